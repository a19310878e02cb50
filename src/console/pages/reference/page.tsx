/**
 * The API of this service: every request with its fields, its answers and a line to copy, from its OpenAPI document.
 */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { t } from '../../language/language.ts'
import { Code, Empty, ErrorMessage, Loading, Page } from '../../parts/basics.tsx'
import { Field } from '../../parts/forms.tsx'
import { Markdown } from '../../parts/markdown.tsx'
import type { PageProps } from '../../parts/route.ts'
import { withFields } from '../../parts/route.ts'
import { useLoad } from '../../state/load.ts'
import type { Reference, Request } from './document.ts'
import { curlOf, getReference, requestsByTag } from './document.ts'
import { Fields } from './schema.tsx'

const words = t.models

export function ReferencePage({ query }: PageProps) {
  const { data, problem, reload } = useLoad('api reference', getReference)
  return (
    <Page title={t.frame.page.reference} aside={<a href="/openapi.json">openapi.json</a>}>
      <p>
        {words.guidesExplain((name) => (
          <a href="/help">{name}</a>
        ))}
      </p>
      <ErrorMessage problem={problem} retry={reload} />
      {data ? <Shown reference={data} search={query.search ?? ''} /> : !problem && <Loading rows={14} />}
    </Page>
  )
}

function Shown({ reference, search }: { reference: Reference; search: string }) {
  const { route } = useLocation()
  const groups = [...requestsByTag(reference, search)].filter(([, requests]) => requests.length > 0)
  return (
    <>
      <details class="panel">
        <summary>{words.aboutApi}</summary>
        <div lang="en">
          <Markdown text={reference.info.description ?? ''} />
        </div>
      </details>
      <section class="filters" aria-label={words.filters}>
        <Field
          label={words.search}
          type="search"
          value={search}
          placeholder={words.searchHint}
          onInput={(event) => route(withFields('/docs', {}, { search: event.currentTarget.value }), true)}
        />
      </section>
      {groups.length === 0 && <Empty title={words.noRequest}>{words.shorter}</Empty>}
      {groups.map(([tag, requests]) => (
        <section key={tag} class="panel reference">
          <h2 lang="en">{tag}</h2>
          <p class="soft" lang="en">
            {reference.tags.find(({ name }) => name === tag)?.description}
          </p>
          {requests.map((request) => (
            <OneRequest key={request.place} reference={reference} request={request} />
          ))}
        </section>
      ))}
    </>
  )
}

/** Opens the request that the address names, and those that are pressed: what is closed is not made. */
function OneRequest({ reference, request }: { reference: Reference; request: Request }) {
  const { method, path, place, operation } = request
  const isNamed = location.hash === `#${place}`
  const [opened, setOpened] = useState(isNamed)
  useEffect(() => {
    if (isNamed) document.getElementById(place)?.scrollIntoView()
  }, [])
  return (
    <details id={place} open={isNamed} onToggle={(event) => event.currentTarget.open && setOpened(true)}>
      <summary>
        <code class="method">{method.toUpperCase()}</code> <code>{path}</code>{' '}
        <span class="soft" lang="en">
          {operation.summary}
        </span>
      </summary>
      {opened && <Details reference={reference} request={request} />}
    </details>
  )
}

function Details({ reference, request }: { reference: Reference; request: Request }) {
  const { operation } = request
  const body = Object.entries(operation.requestBody?.content ?? {})
  return (
    <div class="request">
      {operation.description && <Markdown text={operation.description} />}
      <Code text={curlOf(reference, request, location.origin)} />
      {operation.parameters && operation.parameters.length > 0 && (
        <>
          <h3>{words.parameters}</h3>
          <ul class="fields">
            {operation.parameters.map(({ name, in: place, required, description, schema }) => (
              <li key={`${place} ${name}`}>
                <code>{name}</code>{' '}
                <small class="soft">
                  {place}
                  {!required && words.optional}
                </small>
                {(description ?? schema?.description) && <Markdown text={description ?? schema!.description!} />}
              </li>
            ))}
          </ul>
        </>
      )}
      {body.map(
        ([type, { schema }]) =>
          schema && (
            <div key={type}>
              <h3>{words.bodyOf(type)}</h3>
              <Fields reference={reference} schema={schema} />
            </div>
          ),
      )}
      <Answers reference={reference} request={request} />
    </div>
  )
}

/** The answers by their status; their fields are folded. */
const Answers = ({ reference, request: { operation } }: { reference: Reference; request: Request }) => (
  <>
    <h3>{words.answers}</h3>
    <ul class="fields">
      {Object.entries(operation.responses ?? {}).map(([status, { description, content = {} }]) => {
        const schema = Object.values(content).find((one) => one.schema)?.schema
        return (
          <li key={status}>
            <code>{status}</code>
            {description && <Markdown text={description} />}
            {schema && (
              <details>
                <summary>{words.fields}</summary>
                <Fields reference={reference} schema={schema} />
              </details>
            )}
          </li>
        )
      })}
    </ul>
  </>
)
