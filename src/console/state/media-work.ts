/**
 * The picture and the video that the playground makes. They outlive the page: a call goes on while its caller reads
 * another page.
 */
import type { Signal } from '@preact/signals'
import { effect, signal } from '@preact/signals'
import { t } from '../language/language.ts'
import type { Problem } from '../api/client.ts'
import { problemOf } from '../api/client.ts'
import type { MediaFields } from '../api/call-forms.ts'
import type { Cost } from '../api/gateway.ts'
import { media } from '../api/gateway.ts'
import { loadAccount } from './account.ts'
import { withPlaygroundKey } from './playground-key.ts'
import { token } from './session.ts'

const words = t.playground

export type Work = {
  busy: boolean
  status: string
  /** Percent, if the upstream reports it. */
  progress: number | null
  problem: Problem | null
  urls: string[]
  cost: Cost | null
  callId: string | null
}

const IDLE: Work = { busy: false, status: '', progress: null, problem: null, urls: [], cost: null, callId: null }

/** The latest of each kind. */
export const works: Record<'image' | 'video', Signal<Work>> = { image: signal(IDLE), video: signal(IDLE) }

let session = new AbortController()

// The next person at this browser must not see what the last one made.
effect(() => {
  if (token.value !== null) return
  session.abort()
  session = new AbortController()
  for (const work of Object.values(works)) work.value = IDLE
})

/** Makes a picture or a video and shows how far it is. Errors are shown, never thrown. */
export async function makeMedia(kind: 'image' | 'video', fields: MediaFields): Promise<void> {
  const { signal: over } = session
  const work = works[kind]
  const put = (changes: Partial<Work>): void => {
    if (!over.aborted) work.value = { ...work.peek(), ...changes }
  }
  work.value = { ...IDLE, busy: true, status: t.words.fields.sending }
  try {
    const { callId, updates } = await withPlaygroundKey((key) => media(kind, key, fields, over))
    put({ callId })
    for await (const one of updates) {
      if ('urls' in one) put(one)
      else if ('progress' in one) put({ progress: one.progress, status: words.running })
      else put({ status: one.status === 'queued' ? words.waiting : words.running })
    }
    put({ busy: false })
  } catch (thrown) {
    put({ busy: false, problem: problemOf(thrown) })
  }
  void loadAccount()
}
