/**
 * The answer of an ended call: composed from its row and its stored output by one function, so that the waiting
 * request, a later `GET /v1/calls/{id}` and an idempotent replay get the very same bytes. Pure.
 *
 * An output is JSON text: of chat the completion, with a non-empty `usage` as its last member; of media `created` and `data`;
 * of a failure the error object. Credits and balance are known only once the settlement is made, after the output was
 * written, and are spliced in behind it: the text is never parsed and serialized again.
 */
import type { GatewayError } from '../errors.ts'
import type { CallStatus, Modality } from './lifecycle.ts'

/** A finished HTTP answer. */
export type Answer = { status: number; body: string }

/** The columns of an ended call that its answer shows. */
export type EndedCall = {
  modality: Modality
  status: CallStatus
  httpStatus: number
  credits: number
  balanceAfter: number
  latencyMs: number
}

/** Token counts as the specification names them and as OpenAI clients read them (contract section 5.4). */
export type ChatUsage = {
  input_tokens: number
  output_tokens: number
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
}

/** The stored output of a chat call. `completion` must not have a `usage` of its own. */
export const chatOutput = (completion: Record<string, unknown>, usage: ChatUsage & Record<string, unknown>): string =>
  JSON.stringify({ ...completion, usage })

/** The stored output of an image or video call; `created` in Unix seconds. */
export const mediaOutput = (created: number, urls: string[]): string =>
  JSON.stringify({ created, data: urls.map((url) => ({ url })) })

/** The stored output of a failed call. */
export const errorOutput = (error: GatewayError): string => JSON.stringify(error)

/** The answer of an ended call. */
export function answerOf(call: EndedCall, output: string): Answer {
  return { status: call.httpStatus, body: bodyOf(call, output) }
}

function bodyOf(call: EndedCall, output: string): string {
  if (call.status === 'failed') return `{"ok":false,"error":${output}}`
  const money = `"credits":${call.credits},"balance":${call.balanceAfter}`
  return call.modality === 'chat'
    ? `{"ok":true,${output.slice(1, -2)},${money}}}`
    : `{"ok":true,${output.slice(1, -1)},"usage":{${money},"latencyMs":${call.latencyMs}}}`
}
