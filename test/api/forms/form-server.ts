import { createServer } from 'node:http'
import type { IncomingMessage, Server } from 'node:http'
import { readdirSync, readlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { AddressInfo } from 'node:net'
import { createHash } from 'node:crypto'
import type { DeclaredForm } from '../../../src/api/forms/declared-form.ts'
import { longestForm } from '../../../src/api/forms/declared-form.ts'
import { FormFile, MOST_FORMS } from '../../../src/api/forms/form-file.ts'
import { Quota } from '../../../src/api/endpoint/quota.ts'
import { readForm } from '../../../src/api/forms/read-form.ts'
import { BodyMemory, formBounds } from '../../../src/api/server/body-memory.ts'
import { ApiError } from '../../../src/shared/platform/errors.ts'

/** What the server answers: the form's fields with its files as their hashes, or the error. */
export type Read = { status: number; error?: { type: string; message: string; param: string | null }; fields?: unknown }

export type FormServer = {
  url: string
  /** Bytes of forms that are counted now. */
  counted: () => number
  /** How many requests are being read. */
  reading: () => number
  stop: () => Promise<void>
}

/** A server that reads forms and says what came of them. */
export async function startFormServer(declared: DeclaredForm, forms = MOST_FORMS): Promise<FormServer> {
  const uploadSpace = new BodyMemory(formBounds(longestForm(declared)))
  const openForms = new Quota(forms)
  let reading = 0
  const answer = async (req: IncomingMessage): Promise<Read> => {
    const endpoint = { maxBodyBytes: longestForm(declared) }
    const form = await readForm({ req, state: { endpoint } } as never, { uploadSpace, openForms }, declared, 'sender')
    try {
      return { status: 200, fields: await shown(form.fields) }
    } finally {
      await form.release()
    }
  }
  const server: Server = createServer((req, res) => {
    reading++
    answer(req)
      .catch((error: unknown): Read => {
        if (!(error instanceof ApiError))
          return { status: 500, error: { type: String(error), message: '', param: null } }
        return { status: error.status, error: { type: error.code, message: error.message, param: error.param } }
      })
      .then((read) => {
        reading--
        res.writeHead(read.status, { 'content-type': 'application/json', connection: 'close' })
        res.end(JSON.stringify(read))
      })
      .catch(() => {})
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    counted: () => uploadSpace.bytes(),
    reading: () => reading,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    },
  }
}

/** The fields with files as what is known of them, and the hash of what can be read. */
async function shown(fields: Record<string, unknown>): Promise<unknown> {
  const entries = Object.entries(fields).map(async ([name, value]) => [
    name,
    Array.isArray(value) ? await Promise.all(value.map(shownFile)) : await shownFile(value),
  ])
  return Object.fromEntries(await Promise.all(entries))
}

async function shownFile(value: unknown): Promise<unknown> {
  if (!(value instanceof FormFile)) return value
  const hash = createHash('sha256')
  for await (const chunk of value.chunks()) hash.update(chunk)
  return { ...value.toJSON(), bytes: value.bytes, read: hash.digest('hex') }
}

/** The files of uploads that this process has open, and those that have a name: of any process, and for a moment. */
export function uploadsLeft(): string[] {
  const open = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
  return [...open, ...readdirSync(tmpdir())].filter((name) => name.includes('tollgate-upload-'))
}
