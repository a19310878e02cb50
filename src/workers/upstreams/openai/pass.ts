/** What servers of OpenAI's kind would refuse in a request of their own dialect, as they take it. */
import { OPENAI } from '../../../shared/chat/completions/carries.ts'
import { withImages } from '../../../shared/chat/completions/parts.ts'
import { typedPicture } from '../../../shared/chat/picture-types.ts'
import { isSealed } from '../../../shared/chat/seal.ts'
import { asFields, isText, listOf } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatMessage } from '../../../shared/requests/requests.ts'
import { argumentsSchema } from '../../../shared/chat/schemas.ts'
import { CallIds } from '../sent-names.ts'
import type { ShortNames } from '../short-names.ts'
import { shortUser } from '../user-ids.ts'

/**
 * The fields with shorter names and ids, the real types of pictures, whole schemas, and nothing about tools without
 * tools.
 */
export function corrected(fields: Fields, names: ShortNames): Fields {
  const { messages, tools, functions, parallel_tool_calls: parallel, ...others } = fields
  const { user, safety_identifier: safety, tool_choice: choice, function_call: called, ...rest } = others
  return {
    ...rest,
    messages: sentMessages(messages as ChatMessage[], names),
    ...(tools !== undefined && { tools: listOf(tools).map((tool) => sentTool(tool, names)) }),
    ...(functions !== undefined && { functions: listOf(functions).map((one) => sentFunction(one, names)) }),
    ...(choice !== undefined && { tool_choice: names.sent(choice) }),
    ...(called !== undefined && { function_call: names.sent(called) }),
    ...(parallel !== undefined && listOf(tools).length > 0 && { parallel_tool_calls: parallel }),
    ...(isText(user) && { user: shortUser(user) }),
    ...(isText(safety) && { safety_identifier: shortUser(safety) }),
  }
}

function sentMessages(messages: readonly ChatMessage[], names: ShortNames): ChatMessage[] {
  const ids = new CallIds(OPENAI)
  return messages.map(withoutSealed).map((message) => {
    const { role, tool_calls: calls, tool_call_id: id, function_call: called } = message
    return {
      ...withImages(message, (url) => (typeof url === 'string' ? typedPicture(url) : url)),
      ...(Array.isArray(calls) && {
        tool_calls: listOf(calls).map((call) => ({
          ...names.sent(call),
          ...(isText(call.id) && { id: ids.ofCall(call.id) }),
        })),
      }),
      ...(isText(id) && { tool_call_id: ids.ofResult(id) }),
      ...(called !== undefined && { function_call: names.sent(called) }),
      ...(role === 'function' && { name: names.sentTool(message).name }),
    }
  })
}

/** A message without what only another route may read again: what it has sealed of its model's thoughts. */
function withoutSealed(message: ChatMessage): ChatMessage {
  const { reasoning_details: details, tool_calls: calls } = message
  const kept = listOf(details).filter(({ data }) => !isSealed(String(data)))
  return {
    ...message,
    ...(Array.isArray(details) && { reasoning_details: kept.length > 0 ? kept : undefined }),
    ...(Array.isArray(calls) && {
      tool_calls: listOf(calls).map(({ extra_content: extra, ...call }) => {
        const { thought_signature: signature } = asFields(asFields(extra).google)
        return extra === undefined || isSealed(String(signature)) ? call : { ...call, extra_content: extra }
      }),
    }),
  }
}

function sentTool(tool: Fields, names: ShortNames): Fields {
  if (tool.type === 'function') return { ...tool, function: sentFunction(asFields(tool.function), names) }
  return tool.type === 'custom' ? { ...tool, custom: names.sentTool(asFields(tool.custom)) } : tool
}

function sentFunction(called: Fields, names: ShortNames): Fields {
  const { parameters, ...named } = names.sentTool(called)
  return parameters === undefined ? named : { ...named, parameters: argumentsSchema(asFields(parameters)) }
}
