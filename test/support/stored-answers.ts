import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { storeInput } from '../../src/shared/calls/stored-responses.ts'
import type { OpenRequest } from '../../src/shared/calls/types.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { parseId, publicId } from '../../src/shared/platform/ids.ts'
import { opened, verbs } from '../shared/calls/opening.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'

const MEGABYTE = 1024 * 1024

const usage = { input_tokens: 1, output_tokens: 2, prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }

/** A chat that has ended with this content, at one credit. @returns the path of its answer. */
export async function aStoredChat(
  db: Db,
  account: TestAccount,
  content: string,
  more: Partial<OpenRequest> = {},
): Promise<string> {
  const calls = verbs(db)
  const id = await opened(calls, account, 1, { modality: 'chat', model: 'sandbox-chat', ...more })
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
  const head = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'sandbox-chat' }
  const output = JSON.stringify({ ...head, choices, usage })
  await calls.settle(id, 'chat', {
    cost: 1,
    tokens: { input: 1, output: 2 },
    costMicroUsd: null,
    upstream: 'sandbox',
    resultUrl: null,
    output,
  })
  return `/v1/calls/${publicId('call', id)}`
}

/**
 * A response of each account with an answer of 3 MB, which was asked with two pictures, 28 MB together.
 * @returns the ids of their calls
 */
export async function responsesWithPictures(db: Db, accounts: readonly TestAccount[]): Promise<string[]> {
  const calls: string[] = []
  for (const account of accounts) {
    const path = await aStoredChat(db, account, 'a'.repeat(3 * MEGABYTE), { dialect: 'responses' })
    calls.push(path.replace('/v1/calls/', ''))
  }
  const [first, ...others] = calls.map((call) => parseId('call', call)!)
  const picture = () => ({ type: 'input_image', image_url: randomBytes(10.5 * MEGABYTE).toString('base64') })
  const items = [1, 2].map((nth) => ({ id: `msg_${nth}`, role: 'user', content: [picture()] }))
  await storeInput(db, { callId: first!, accountId: accounts[0]!.id }, items)
  const input = db('call_results').where({ call_id: first! }).select('input')
  await db('call_results').whereIn('call_id', others).update({ input })
  return calls
}

/** A client that sends its request and reads nothing of the answer. */
export function neverReads(
  url: string,
  path: string,
  { key }: Pick<TestAccount, 'key'>,
  body?: object,
): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const text = body === undefined ? '' : JSON.stringify(body)
  const lines = [
    `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
  ]
  const socket = connect({ port: Number(port), host: hostname })
  socket.on('error', () => {}).pause()
  return new Promise((resolve) => {
    socket.once('connect', () => {
      socket.write(`${lines.join('\r\n')}\r\n\r\n${text}`)
      resolve(socket)
    })
  })
}
