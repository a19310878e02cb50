/**
 * The models and their prices: a list to search and sort, and a page for each.
 */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { t } from '../language/language.ts'
import type { ModelEntry, ModelLatency } from '../api/endpoints.ts'
import { getModelLatency, getModels } from '../api/endpoints.ts'
import { Copy, Empty, ErrorMessage, Fact, Loading, Page } from '../parts/basics.tsx'
import { PLAYED } from '../api/call-forms.ts'
import { MODALITY_CHOICES, credits, duration, number } from '../parts/format.ts'
import { Choice, Field } from '../parts/forms.tsx'
import { List } from '../parts/list.tsx'
import type { PageProps } from '../parts/route.ts'
import { withFields } from '../parts/route.ts'
import { Price } from '../parts/worth.tsx'
import { useLoad } from '../state/load.ts'
import { token } from '../state/session.ts'
import { exampleOf } from '../parts/samples/samples.ts'
import { CodeSamples } from '../parts/samples/code-samples.tsx'

const texts = t.models

const ORDERS = Object.entries(texts.orders)

/** How long each model took in the last day, by its id. */
type Latencies = ReadonlyMap<string, ModelLatency>

const nameOf = (model: ModelEntry): string => model.name ?? model.id

/** What orders by price what is paid by tokens is a million of them in and out; everything else its lowest price. */
const priceOf = ({ pricing, credits: least }: ModelEntry): number =>
  pricing && 'perTokens' in pricing ? ((pricing.input + (pricing.output ?? 0)) * 1_000_000) / pricing.perTokens : least

/** The models that match every word of the search, in the order that was asked for. */
function chosenModels(
  models: ModelEntry[],
  { search = '', kind = '', order = '' },
  latencies: Latencies = new Map(),
): ModelEntry[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const found = models.filter((model) => {
    const text = `${model.id} ${model.name ?? ''} ${model.description ?? ''}`.toLowerCase()
    return (kind === '' || model.modality === kind) && words.every((word) => text.includes(word))
  })
  if (order === 'name') return found.toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)))
  const rank = {
    price: priceOf,
    latency: ({ id }: ModelEntry) => latencies.get(id)?.p50Ms ?? Infinity,
    context: ({ contextLength = 0 }: ModelEntry) => -contextLength,
  }[order]
  return rank ? found.toSorted((a, b) => compared(rank(a), rank(b))) : found
}

/** For sorting: the difference of two infinities is no number. */
const compared = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1)

export function ModelsPage({ params, query }: PageProps) {
  const models = useLoad('models', getModels)
  const isVisitor = token.value === null
  const latency = useLoad(isVisitor ? 'no latency' : 'latency of models', async () =>
    isVisitor ? { data: [] } : getModelLatency(),
  )
  const latencies = useMemo(() => new Map((latency.data?.data ?? []).map((one) => [one.model, one])), [latency.data])
  const { id } = params
  if (id !== undefined) {
    const { data, problem, reload } = models
    return <ModelPage id={id} models={data?.data} latency={latencies.get(id)} problem={problem} reload={reload} />
  }
  const none = <Empty title={texts.none}>{texts.notOffered}</Empty>
  return (
    <Page title={t.frame.page.models}>
      <p class="soft">{texts.about}</p>
      <Finder query={query} />
      <List of={models} empty={none}>
        {(items) => <Found models={chosenModels(items, query, latencies)} latencies={latencies} />}
      </List>
    </Page>
  )
}

function Finder({ query }: { query: Record<string, string> }) {
  const { route } = useLocation()
  const set = (name: string) => (event: Event) =>
    route(withFields('/models', query, { [name]: (event.currentTarget as HTMLInputElement).value }), true)
  return (
    <section class="filters" aria-label={texts.filters}>
      <Field label={texts.search} type="search" value={query.search ?? ''} onInput={set('search')} />
      <Choice label={t.words.fields.kind} options={MODALITY_CHOICES} value={query.kind ?? ''} onChange={set('kind')} />
      <Choice label={texts.order} options={ORDERS} value={query.order ?? ''} onChange={set('order')} />
    </section>
  )
}

const Found = ({ models, latencies }: { models: ModelEntry[]; latencies: Latencies }) =>
  models.length === 0 ? (
    <Empty title={texts.noMatch}>
      {texts.shorten((name) => (
        <a href="/models">{name}</a>
      ))}
    </Empty>
  ) : (
    <ul class="models">
      {models.map((model) => (
        <li key={model.id} class="panel">
          <Label model={model} />
          <h2>
            <a href={`/models/${encodeURIComponent(model.id)}`}>{nameOf(model)}</a>
          </h2>
          {model.description && <p class="soft">{model.description}</p>}
          <PriceLine model={model} />
          <Facts model={model} latency={latencies.get(model.id)} />
          <TryIt model={model} />
        </li>
      ))}
    </ul>
  )

/** Leads to the playground. */
const TryIt = ({ model: { id, modality } }: { model: ModelEntry }) =>
  PLAYED.some((one) => one === modality) ? (
    <a class="button" href={`/playground/${modality}?model=${encodeURIComponent(id)}`}>
      {texts.tryIt}
    </a>
  ) : null

/** The kind of a model, and the id to call it by. Where its heading is just that, there is only a button to copy it. */
const Label = ({ model: { id, name = id, modality } }: { model: ModelEntry }) => (
  <p class="row between">
    <span class={`kind ${modality}`}>{t.words.kinds[modality]}</span>
    <span class="id">
      {name !== id && <code>{id}</code>}
      <Copy text={id} label={name === id ? texts.copyId : t.frame.copy} />
    </span>
  </p>
)

const PriceLine = ({ model }: { model: ModelEntry }) => (
  <p class="cost">
    <Price model={model} />
    {model.pricing && 'minimum' in model.pricing && model.pricing.minimum !== undefined && (
      <small class="soft">{texts.atLeast(credits(model.pricing.minimum))}</small>
    )}
  </p>
)

/** What is known of a model besides its price; nothing if that is nothing. */
function Facts({ model, latency }: { model: ModelEntry; latency: ModelLatency | undefined }) {
  const { contextLength, maxDimensions, resolutions, durations, sizes, qualities } = model
  const facts: [string, ComponentChildren][] = [
    [texts.context, contextLength !== undefined && texts.tokens(number(contextLength))],
    [texts.latency, latency && <Took latency={latency} />],
    [texts.duration, durations && durationsText(durations)],
    [texts.dimensions, maxDimensions !== undefined && texts.upTo(number(maxDimensions))],
    [texts.resolution, resolutions?.join(', ')],
    [texts.size, sizes?.join(', ')],
    [texts.quality, qualities?.join(', ')],
  ]
  const known = facts.filter(([, fact]) => Boolean(fact))
  return known.length === 0 ? null : (
    <dl class="facts">
      {known.map(([name, fact]) => (
        <Fact key={name} name={name}>
          {fact}
        </Fact>
      ))}
    </dl>
  )
}

/** The median, and the 95th percentile below it. */
const Took = ({ latency: { p50Ms, p95Ms } }: { latency: ModelLatency }) => (
  <span title={texts.tookHint}>
    {texts.median(duration(p50Ms))}
    <small class="soft">{texts.within(duration(p95Ms))}</small>
  </span>
)

const durationsText = (durations: NonNullable<ModelEntry['durations']>): string =>
  Array.isArray(durations) ? `${durations.join(', ')} s` : texts.steps(durations.min, durations.max, durations.step)

type OneModel = { id: string; models: ModelEntry[] | undefined; latency: ModelLatency | undefined } & Parameters<
  typeof ErrorMessage
>[0]

/** A model's page: its prices, what it offers, and how it is called. */
function ModelPage({ id, models, latency, problem, reload }: OneModel & { reload: () => void }) {
  const model = models?.find((one) => one.id === id)
  if (!model) {
    return (
      <Page title={id}>
        <ErrorMessage problem={problem} retry={reload} />
        {models ? (
          <Empty title={texts.noSuch}>
            {texts.see((name) => (
              <a href="/models">{name}</a>
            ))}
          </Empty>
        ) : (
          !problem && <Loading rows={6} />
        )}
      </Page>
    )
  }
  const example = exampleOf(model, { chat: 'Hello!', prompt: 'a red fox in snow' })
  return (
    <Page
      title={nameOf(model)}
      aside={
        <span class="row">
          <a href="/models">{texts.all}</a>
          <TryIt model={model} />
        </span>
      }
    >
      <section class="panel">
        <Label model={model} />
        {model.description && <p class="soft">{model.description}</p>}
        <PriceLine model={model} />
        {model.prices && <Rows model={model} />}
        <Facts model={model} latency={latency} />
      </section>
      <section class="panel">
        <h2>{texts.callIt}</h2>
        <CodeSamples example={example} />
      </section>
    </Page>
  )
}

/** What a row is of, as "1024x1024, high". */
const wordsOf = ({ resolution, size, quality }: { resolution?: string; size?: string; quality?: string }): string =>
  [resolution, size, quality].filter(Boolean).join(', ')

/** The rows of a media price, in the order in which the first that fits is taken. */
const Rows = ({ model: { modality, prices = [] } }: { model: ModelEntry }) => (
  <ul>
    {prices.map((row) => (
      <li key={JSON.stringify(row)}>
        {wordsOf(row) || texts.otherwise}:{' '}
        {'perSecond' in row && row.perSecond !== undefined
          ? texts.perSecond(credits(row.perSecond))
          : t.words.price.each(credits('credits' in row ? (row.credits ?? 0) : 0), modality)}
      </li>
    ))}
  </ul>
)
