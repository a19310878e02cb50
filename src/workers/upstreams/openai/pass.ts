/** What servers of OpenAI's kind would refuse in a request of their own dialect, as they take it. */
import { OPENAI } from '../../../shared/chat/completions/carries.ts'
import { withImages } from '../../../shared/chat/completions/parts.ts'
import { typedPicture } from '../../../shared/chat/picture-types.ts'
import { asFields, isText, listOf } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatMessage } from '../../../shared/requests/requests.ts'
import { argumentsSchema } from '../schemas.ts'
import { shortened } from '../sent-names.ts'
import { shortUser } from '../user-ids.ts'

/** The fields with shorter ids, the real types of pictures, whole schemas, and nothing about tools without tools. */
export function corrected(fields: Fields): Fields {
  const { messages, tools, functions, parallel_tool_calls: parallel, ...others } = fields
  const { user, safety_identifier: safety, ...rest } = others
  return {
    ...rest,
    messages: sentMessages(messages as ChatMessage[]),
    ...(tools !== undefined && { tools: listOf(tools).map(sentTool) }),
    ...(functions !== undefined && { functions: listOf(functions).map(sentFunction) }),
    ...(parallel !== undefined && listOf(tools).length > 0 && { parallel_tool_calls: parallel }),
    ...(isText(user) && { user: shortUser(user) }),
    ...(isText(safety) && { safety_identifier: shortUser(safety) }),
  }
}

const sentId = (id: string): string => shortened(id, OPENAI.longestCallId)

/**
 * Calls that are named by one id in several turns keep it: each result follows its call, and some servers number their
 * calls from 0 in every turn.
 */
function sentMessages(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.map((message) => {
    const { tool_calls: calls, tool_call_id: id } = message
    return {
      ...withImages(message, (url) => (typeof url === 'string' ? typedPicture(url) : url)),
      ...(Array.isArray(calls) && {
        tool_calls: listOf(calls).map((call) => (isText(call.id) ? { ...call, id: sentId(call.id) } : call)),
      }),
      ...(isText(id) && { tool_call_id: sentId(id) }),
    }
  })
}

const sentTool = (tool: Fields): Fields =>
  tool.type === 'function' ? { ...tool, function: sentFunction(asFields(tool.function)) } : tool

const sentFunction = ({ parameters, ...called }: Fields): Fields =>
  parameters === undefined ? called : { ...called, parameters: argumentsSchema(asFields(parameters)) }
