/**
 * A form of the prices and groups in a catalogue, which writes into its text: all else in it stays.
 */
import { t } from '../../language/language.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { asList, isFields } from '../../../shared/platform/fields.ts'
import { useId } from 'preact/hooks'
import { isModality } from '../../../shared/terms/kinds.ts'
import { priceText, pricedAs } from '../../parts/format.ts'
import type { Path } from './catalogue-edits.ts'
import { withValue } from './catalogue-edits.ts'

const words = t.catalogue

type Price = { path: Path; name: string; value: unknown }

/** What a model's price may be made of, in the order of the form; those that it does not state are left empty. */
const PRICING_FIELDS: Readonly<Record<string, readonly string[]>> = {
  chat: ['input', 'output', 'cachedInput', 'cacheWrite', 'perTokens', 'perCall', 'minimum'],
  embedding: ['input', 'perTokens', 'minimum'],
  rerank: ['perSearch'],
  speech: ['perCharacter', 'perCharacters', 'minimum'],
}

function pricesOf(model: Fields, at: number): Price[] {
  const start = ['models', at] as const
  if (isFields(model.pricing)) {
    const { pricing } = model
    const names = PRICING_FIELDS[String(model.modality)] ?? Object.keys(pricing)
    return names.map((name) => ({ path: [...start, 'pricing', name], name: inWords(name), value: pricing[name] }))
  }
  if (model.credits !== undefined) {
    return [{ path: [...start, 'credits'], name: inWords('credits'), value: model.credits }]
  }
  return asList(model.prices).flatMap((row, nth) => {
    if (!isFields(row)) return []
    const field = 'perSecond' in row ? 'perSecond' : 'credits'
    const of = [row.resolution, row.size, row.quality].filter((one) => typeof one === 'string').join(', ')
    const name = of === '' ? inWords(field) : words.at(inWords(field), of)
    return [{ path: [...start, 'prices', nth, field], name, value: row[field] }]
  })
}

/** A number, or what was typed instead, which the check names; nothing if the field is empty. */
const typed = (text: string): unknown =>
  text.trim() === '' ? undefined : Number.isNaN(Number(text)) ? text : Number(text)

/** What a group is made of, but for the list of its models. */
const GROUP_FIELDS = ['priceBasisPoints', 'rateLimit', 'maxOutstanding']

function groupsOf(catalogue: unknown): [name: string, numbers: Price[]][] {
  const groups = isFields(catalogue) && isFields(catalogue.groups) ? catalogue.groups : {}
  return Object.entries(groups).map(([group, fields]) => [
    group,
    GROUP_FIELDS.map((name) => ({
      path: ['groups', group, name],
      name: inWords(name),
      value: isFields(fields) ? fields[name] : undefined,
    })),
  ])
}

type FormProps = { catalogue: unknown; change: (catalogue: unknown) => void }

export function PriceForm({ catalogue, change }: FormProps) {
  const models = asList(isFields(catalogue) ? catalogue.models : undefined)
  const fieldsOf = (of: string, numbers: Price[]) =>
    numbers.map(({ path, name, value }) => (
      <PriceField
        key={path.join('.')}
        of={of}
        name={name}
        value={value}
        change={(to) => change(withValue(catalogue, path, to))}
      />
    ))
  return (
    <div class="prices">
      {models.map((model, at) =>
        isFields(model) ? (
          <fieldset key={at}>
            <legend>{String(model.id)}</legend>
            <PriceInWords model={model} />
            {fieldsOf(String(model.id), pricesOf(model, at))}
          </fieldset>
        ) : null,
      )}
      {groupsOf(catalogue).map(([group, numbers]) => (
        <fieldset key={group}>
          <legend>{words.groupOf(group)}</legend>
          {fieldsOf(words.groupOf(group), numbers)}
        </fieldset>
      ))}
    </div>
  )
}

/** The price of a model as customers read it; nothing while it is not whole. */
function PriceInWords({ model: { modality, pricing, prices, credits } }: { model: Fields }) {
  if (!isModality(modality)) return null
  const written = pricedAs({ modality, price: (pricing ?? (prices ? { prices } : { credits })) as Written })
  const text = written && priceText(written)
  return text === null || /NaN|undefined|∞/.test(text) ? null : <small class="soft">{text}</small>
}

type Written = Parameters<typeof pricedAs>[0]['price']

type PriceFieldProps = { of: string; name: string; value: unknown; change: (value: unknown) => void }

/** A field of the catalogue in words: cachedInput is "Cached input". */
const inWords = (name: string): string =>
  words.fields[name] ??
  name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/^./, (letter) => letter.toUpperCase())

function PriceField({ of, name, value, change }: PriceFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>
        <span class="hidden">{of} </span> {name}
      </label>
      <input
        id={id}
        inputMode="numeric"
        value={typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)}
        onInput={(event) => change(typed(event.currentTarget.value))}
      />
    </div>
  )
}
