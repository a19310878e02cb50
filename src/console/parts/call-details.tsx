/**
 * The details of one call: its steps, its ledger entries and its result.
 */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../language/language.ts'
import type { CallRecord, CallDetails, LedgerEntry } from '../api/endpoints.ts'
import { DIALECT_WORDS } from '../api/call-forms.ts'
import { Code, Status, Time } from './basics.tsx'
import { Worth } from './worth.tsx'
import { datedClock, duration, localClock, number, priceText, pricedAs, signed } from './format.ts'
import { similarCurl } from './samples/samples.ts'

const words = t.calls
const columns = t.overview.calls

type Step = { name: string; at: string | null; note?: ComponentChildren; amount?: number; tone?: 'good' | 'bad' }

/** The steps of a call in their order; `at` null for one that is still to come. */
function trailOf({ call, startedAt, ledger }: CallDetails): Step[] {
  const moved = (kinds: LedgerEntry['kind'][]): LedgerEntry[] => ledger.filter(({ kind }) => kinds.includes(kind))
  const sum = (entries: LedgerEntry[]): number => entries.reduce((all, { amount }) => all + amount, 0)
  const charges = moved(['charge'])
  const after = moved(['settlement', 'refund'])
  if (call.status === 'rejected') {
    return [
      { name: words.steps.received, at: call.createdAt },
      {
        name: t.words.statuses.rejected,
        at: call.finishedAt,
        note: call.count > 1 ? words.steps.times(number(call.count)) : words.steps.nothing,
        tone: 'bad',
      },
    ]
  }
  const steps: Step[] = [
    // One transaction writes both; its own clock began a moment before the row's.
    { name: words.steps.accepted, at: first(call.createdAt, charges[0]?.createdAt) },
    {
      name: words.steps.charged,
      at: charges[0]?.createdAt ?? call.createdAt,
      amount: sum(charges),
      note: balanceNote(charges),
    },
    {
      name: words.steps.running,
      at: startedAt,
      note: startedAt && call.attempts > 1 ? words.steps.attempt(call.attempts) : undefined,
    },
  ]
  if (call.status === 'failed')
    steps.push({
      name: words.steps.refunded,
      at: call.finishedAt,
      amount: sum(after),
      note: balanceNote(after),
      tone: 'bad',
    })
  else if (call.status === 'succeeded') {
    steps.push({
      name: words.steps.settled,
      at: call.finishedAt,
      amount: sum(after),
      note: after.length === 0 ? words.steps.asCharged : balanceNote(after),
      tone: 'good',
    })
  } else steps.push({ name: words.steps.settled, at: null })
  return steps
}

const first = (one: string, other = one): string => (other < one ? other : one)

const balanceNote = (entries: LedgerEntry[]): string | undefined =>
  entries.length === 0 ? undefined : words.steps.balance(number(entries.at(-1)!.balanceAfter))

/** The trail as a list of times, each with what it moved. The first step of each day has the date. */
export function Trail({ details }: { details: CallDetails }) {
  const steps = trailOf(details)
  const startsDay = (nth: number): boolean => steps[nth]!.at !== null && dateOf(steps[nth]) !== dateOf(steps[nth - 1])
  return (
    <ol class="trail" data-testid="trail">
      {steps.map(({ name, at, note, amount, tone }, nth) => (
        <li key={name} class={`${at === null ? 'ahead' : 'past'} ${tone ?? ''}`}>
          <strong>{name}</strong>
          <span class="soft">
            {at === null ? words.steps.notYet : <Time iso={at} text={startsDay(nth) ? datedClock : localClock} />}
          </span>
          <span class="digits">
            {amount === undefined || amount === 0 ? '' : t.words.credits(signed(amount), Math.abs(amount) === 1)}
          </span>
          <small class="soft">{note}</small>
        </li>
      ))}
    </ol>
  )
}

/** The local date of a step; none of one that is still to come. */
const dateOf = (step: Step | undefined): string | null => (step?.at ? new Date(step.at).toDateString() : null)

const cacheFacts = ({ cachedInputTokens: cached, cacheWriteTokens: written }: CallRecord): [string, string][] =>
  cached || written ? [[words.facts.ofInput, words.facts.cached(number(cached ?? 0), number(written ?? 0))]] : []

type Fact = [name: string, value: ComponentChildren]

type FactsProps = { call: CallRecord; keyName?: string }

/** What is known of a call, as names and values. */
export function Facts({ call, keyName }: FactsProps) {
  const price = pricedAs(call)
  const facts: Fact[] = [
    [t.words.fields.status, <Status key="status" status={call.status} />],
    [columns.model, call.model],
    ...(call.requested === call.model ? [] : [[words.facts.askedFirst, call.requested] as [string, string]]),
    ...(call.dialect ? [['API', DIALECT_WORDS[call.dialect]] as [string, string]] : []),
    [
      call.status === 'rejected' ? words.steps.received : words.steps.accepted,
      <Time key="time" iso={call.createdAt} />,
    ],
    [columns.took, call.latencyMs === null ? words.facts.stillRunning : duration(call.latencyMs)],
    [
      columns.credits,
      <>
        {number(call.credits)}
        <Worth credits={call.credits} />
      </>,
    ],
    [words.facts.held, number(call.creditsPrecharged)],
    ...(call.creditsUncollected > 0
      ? [[words.facts.uncollected, number(call.creditsUncollected)] as [string, string]]
      : []),
    ...(call.inputTokens === null
      ? []
      : [[columns.tokens, words.facts.tokens(number(call.inputTokens), number(call.outputTokens ?? 0))] as Fact]),
    ...cacheFacts(call),
    ...(price
      ? [[words.facts.price, <span title={call.priceVersion ?? undefined}>{priceText(price)}</span>] as Fact]
      : []),
    [t.words.fields.upstream, call.upstream ?? t.words.fields.none],
    [words.facts.attempts, number(call.attempts)],
    [t.words.fields.answer, call.httpStatus === null ? words.steps.notYet : `HTTP ${call.httpStatus}`],
    ...(keyName ? [[columns.key, keyName] as [string, string]] : []),
  ]
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** What the errors of calls mean, and what to do. */
const ADVICE: Partial<Record<string, string>> = words.advice

export const ErrorNote = ({ call }: { call: CallRecord }) =>
  call.errorType && (
    <div class="trouble">
      <span>
        <code>{call.errorType}</code> {ADVICE[call.errorType] ?? words.refused}
      </span>
    </div>
  )

/** A result of ours is shown from this very origin, even if its public address is another one. */
export function ownAddress(url: string): string {
  const { pathname } = new URL(url, location.origin)
  return pathname.startsWith('/media/') ? pathname : url
}

/** Why a result is not shown: its time is over, or it cannot be loaded now or by this page. Known once `check` ran. */
export function useLoadFailure(address: string): { failure: 'gone' | 'unreachable' | null; check: () => void } {
  const [failure, setFailure] = useState<'gone' | 'unreachable' | null>(null)
  const check = (): void => {
    // A redirect to the bucket is an answer too: only the address itself shows that the result is gone.
    void fetch(address, { method: 'HEAD', redirect: 'manual', credentials: 'omit' }).then(
      ({ status }) => setFailure(status === 404 || status === 410 ? 'gone' : 'unreachable'),
      () => setFailure('unreachable'),
    )
  }
  return { failure, check }
}

/** All that a call has made, as long as it is stored. */
export const AllMedia = ({ urls, modality }: { urls: string[]; modality: CallRecord['modality'] }) => (
  <>
    {urls.map((url) => (
      <Media key={url} url={url} modality={modality} />
    ))}
  </>
)

/** A picture or film, as long as it is stored. */
function Media({ url, modality }: { url: string; modality: CallRecord['modality'] }) {
  const address = ownAddress(url)
  const { failure, check } = useLoadFailure(address)
  if (failure)
    return (
      <p class="soft">
        {failure === 'gone' ? words.gone : words.unreachable}{' '}
        <a href={url} rel="noreferrer">
          {url}
        </a>
      </p>
    )
  return (
    <figure class="media">
      {modality === 'video' ? (
        <video src={address} controls muted playsInline preload="auto" onError={check} />
      ) : (
        <a href={address} target="_blank" rel="noreferrer">
          <img src={address} alt={words.image} onError={check} />
        </a>
      )}
      <figcaption>
        <a href={address} download>
          {words.download}
        </a>
      </figcaption>
    </figure>
  )
}

/** Lines to paste into a shell: the key is never in them. */
function curlOf(call: CallRecord, isMine: boolean): string {
  const base = location.origin
  const fetched = `curl -s ${base}/v1/calls/${call.id} -H "Authorization: Bearer $TOLLGATE_KEY"`
  const made = similarCurl(call, base)
  const isKept = call.status !== 'rejected' && call.modality !== 'embedding' && call.modality !== 'speech'
  return !isKept || !isMine
    ? `${words.similar}\n${made}`
    : `${words.fetchAgain}\n${fetched}\n\n${words.similarToo}\n${made}`
}

/** How to send a similar call, and, for its holder, how to fetch its answer again. */
export const Curl = ({ call, isMine }: { call: CallRecord; isMine: boolean }) => (
  <Code text={curlOf(call, isMine)} label={words.copyCurl} />
)
