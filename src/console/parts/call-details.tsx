/**
 * The details of one call: its steps, its ledger entries and its result.
 */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { CallRecord, CallDetails, LedgerEntry } from '../api/endpoints.ts'
import { DIALECT_WORDS } from '../api/call-forms.ts'
import { Code, Status, Time } from './basics.tsx'
import { Worth } from './worth.tsx'
import { datedClock, duration, localClock, number, priceText, pricedAs, signed } from './format.ts'
import { similarCurl } from './samples/samples.ts'

type Step = { name: string; at: string | null; note?: ComponentChildren; amount?: number; tone?: 'good' | 'bad' }

/** The steps of a call in their order; `at` null for one that is still to come. */
function trailOf({ call, startedAt, ledger }: CallDetails): Step[] {
  const moved = (kinds: LedgerEntry['kind'][]): LedgerEntry[] => ledger.filter(({ kind }) => kinds.includes(kind))
  const sum = (entries: LedgerEntry[]): number => entries.reduce((all, { amount }) => all + amount, 0)
  const charges = moved(['charge'])
  const after = moved(['settlement', 'refund'])
  if (call.status === 'rejected') {
    return [
      { name: 'Received', at: call.createdAt },
      {
        name: 'Refused',
        at: call.finishedAt,
        note: call.count > 1 ? `${number(call.count)} times in that minute` : 'Nothing was charged',
        tone: 'bad',
      },
    ]
  }
  const steps: Step[] = [
    // One transaction writes both; its own clock began a moment before the row's.
    { name: 'Accepted', at: first(call.createdAt, charges[0]?.createdAt) },
    { name: 'Charged', at: charges[0]?.createdAt ?? call.createdAt, amount: sum(charges), note: balanceNote(charges) },
    { name: 'Running', at: startedAt, note: startedAt && call.attempts > 1 ? `Attempt ${call.attempts}` : undefined },
  ]
  if (call.status === 'failed')
    steps.push({ name: 'Refunded', at: call.finishedAt, amount: sum(after), note: balanceNote(after), tone: 'bad' })
  else if (call.status === 'succeeded') {
    steps.push({
      name: 'Settled',
      at: call.finishedAt,
      amount: sum(after),
      note: after.length === 0 ? 'It cost what was charged' : balanceNote(after),
      tone: 'good',
    })
  } else steps.push({ name: 'Settled', at: null })
  return steps
}

const first = (one: string, other = one): string => (other < one ? other : one)

const balanceNote = (entries: LedgerEntry[]): string | undefined =>
  entries.length === 0 ? undefined : `Balance ${number(entries.at(-1)!.balanceAfter)}`

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
            {at === null ? 'not yet' : <Time iso={at} text={startsDay(nth) ? datedClock : localClock} />}
          </span>
          <span class="digits">
            {amount === undefined || amount === 0
              ? ''
              : `${signed(amount)} ${Math.abs(amount) === 1 ? 'credit' : 'credits'}`}
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
  cached || written
    ? [['Of the input', `${number(cached ?? 0)} read from a cache, ${number(written ?? 0)} written to one`]]
    : []

type Fact = [name: string, value: ComponentChildren]

type FactsProps = { call: CallRecord; keyName?: string }

/** What is known of a call, as names and values. */
export function Facts({ call, keyName }: FactsProps) {
  const price = pricedAs(call)
  const facts: Fact[] = [
    ['Status', <Status key="status" status={call.status} />],
    ['Model', call.model],
    ...(call.requested === call.model ? [] : [['Asked first', call.requested] as [string, string]]),
    ...(call.dialect ? [['API', DIALECT_WORDS[call.dialect]] as [string, string]] : []),
    [call.status === 'rejected' ? 'Received' : 'Accepted', <Time key="time" iso={call.createdAt} />],
    ['Took', call.latencyMs === null ? 'still running' : duration(call.latencyMs)],
    [
      'Credits',
      <>
        {number(call.credits)}
        <Worth credits={call.credits} />
      </>,
    ],
    ['Pre-charge', number(call.creditsPrecharged)],
    ...(call.creditsUncollected > 0 ? [['Uncollected', number(call.creditsUncollected)] as [string, string]] : []),
    ...(call.inputTokens === null
      ? []
      : [['Tokens', `${number(call.inputTokens)} in, ${number(call.outputTokens ?? 0)} out`] as [string, string]]),
    ...cacheFacts(call),
    ...(price ? [['Price', <span title={call.priceVersion ?? undefined}>{priceText(price)}</span>] as Fact] : []),
    ['Upstream', call.upstream ?? 'none'],
    ['Attempts', number(call.attempts)],
    ['Answer', call.httpStatus === null ? 'not yet' : `HTTP ${call.httpStatus}`],
    ...(keyName ? [['Key', keyName] as [string, string]] : []),
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
const ADVICE: Partial<Record<string, string>> = {
  upstream_failed: "The model's provider failed. All credits were refunded; you can send the request again.",
  upstream_refused: "The model's provider refused the request: its answer says why. All credits were refunded.",
  upstream_rate_limited: "The model's provider was too busy. All credits were refunded; send the request again.",
  upstream_overloaded: "The model's provider was overloaded. All credits were refunded; send the request again.",
  insufficient_credits:
    'The balance was lower than the most this call could cost. Get more credits, or lower max_tokens.',
  credits_in_use: 'Running calls held the credits for this call. Send the request again once one of them has ended.',
  rate_limited: 'Too many requests in one minute, or too many calls at once. Slow down, or wait a moment.',
  unsupported_model: 'There is no such model, or the endpoint does not serve it. The Models page lists all models.',
  invalid_prompt: 'A prompt must have 1 to 2,000 characters.',
  invalid_messages: 'The field messages must be a list of at least one {role, content}.',
  key_budget_exceeded: 'The budget of the key is spent. Raise it on the Keys page, or use another key.',
  member_budget_exceeded: 'The budget of the member is spent. An admin of the organisation can raise it.',
  model_not_allowed: 'The key may not call this model. Change its limits on the Keys page, or use another key.',
  ip_not_allowed: 'The key may not be used from that IP address. Change its limits on the Keys page.',
  email_unverified: 'The e-mail address of the account is not verified. Open the link in our e-mail first.',
  account_suspended: 'The account is suspended. Contact whoever runs this service.',
  price_above_limit: 'The call would have cost more than X-Max-Credits allowed. Raise that limit, or ask for less.',
  price_changed: 'The price of the model has changed. Look at it on the Models page, and send the new X-Price-Version.',
  upstream_unavailable: 'No provider is configured for this model at the moment.',
  overloaded: 'The service was overloaded. Nothing was charged; send the request again.',
}

export const ErrorNote = ({ call }: { call: CallRecord }) =>
  call.errorType && (
    <div class="trouble">
      <span>
        <code>{call.errorType}</code> {ADVICE[call.errorType] ?? 'The request was refused.'}
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
        {failure === 'gone' ? 'The result is no longer kept:' : 'The result cannot be loaded here:'}{' '}
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
          <img src={address} alt="Generated image" onError={check} />
        </a>
      )}
      <figcaption>
        <a href={address} download>
          Download
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
    ? `# send a similar call\n${made}`
    : `# fetch its answer again\n${fetched}\n\n# send a similar call (prompts are not stored)\n${made}`
}

/** How to send a similar call, and, for its holder, how to fetch its answer again. */
export const Curl = ({ call, isMine }: { call: CallRecord; isMine: boolean }) => (
  <Code text={curlOf(call, isMine)} label="Copy as curl" />
)
