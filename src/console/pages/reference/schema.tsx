/**
 * A JSON Schema, field by field.
 */
import { t } from '../../language/language.ts'
import { Markdown } from '../../parts/markdown.tsx'
import type { Reference, Schema } from './document.ts'
import { MOST_DEPTH, resolved, typeText } from './document.ts'

const words = t.models

type Props = { reference: Reference; schema: Schema; depth?: number }

/** The schema below a list, or below one choice of several with nothing else in them. */
function within(reference: Reference, of: Schema): Schema {
  const { schema } = resolved(reference, of)
  if (schema.items) return within(reference, schema.items)
  const choices = (schema.anyOf ?? schema.oneOf ?? []).filter((one) => one.type !== 'null')
  return choices.length === 1 ? within(reference, choices[0]!) : schema
}

/** The fields of a schema, each with its type and its meaning; those of its fields are folded. */
export function Fields({ reference, schema: of, depth = 0 }: Props) {
  const schema = within(reference, of)
  const { properties, required = [] } = schema
  const choices = (schema.anyOf ?? schema.oneOf ?? schema.allOf ?? []).filter((one) => one.type !== 'null')
  if (depth > MOST_DEPTH) return null
  if (!properties) {
    return choices.length > 0 ? (
      <ol class="fields">
        {choices.map((one, key) => (
          <li key={key}>
            <code>{typeText(reference, one)}</code>
            <Fields reference={reference} schema={one} depth={depth + 1} />
          </li>
        ))}
      </ol>
    ) : null
  }
  return (
    <ul class="fields">
      {Object.entries(properties).map(([name, field]) => (
        <li key={name}>
          <code>{name}</code>{' '}
          <small class="soft">
            {typeText(reference, field)}
            {!required.includes(name) && words.optional}
          </small>
          <Meaning reference={reference} schema={field} />
          {hasFields(reference, field) && depth < MOST_DEPTH && (
            <details>
              <summary>{words.fieldsOf(name)}</summary>
              <Fields reference={reference} schema={field} depth={depth + 1} />
            </details>
          )}
        </li>
      ))}
    </ul>
  )
}

function hasFields(reference: Reference, of: Schema): boolean {
  const schema = within(reference, of)
  return schema.properties !== undefined || (schema.anyOf ?? schema.oneOf ?? []).some((one) => one.$ref !== undefined)
}

/** How a schema describes itself. */
function Meaning({ reference, schema }: Props) {
  const text = schema.description ?? resolved(reference, schema).schema.description
  return text === undefined ? null : <Markdown text={text} />
}
