/**
 * A list that is loaded: its error, its placeholder while loading, its text when empty, or its items.
 */
import type { ComponentChildren } from 'preact'
import { t } from '../language/language.ts'
import type { Data } from '../api/endpoints.ts'
import type { Loaded } from '../state/load.ts'
import { ErrorMessage, Loading } from './basics.tsx'
import { withFields } from './route.ts'

type Props<T> = {
  of: Pick<Loaded<Data<T>>, 'data' | 'problem' | 'reload'>
  /** How tall it will be, about. */
  rows?: number
  empty: ComponentChildren
  children: (items: T[]) => ComponentChildren
}

export function List<T>({ of: { data, problem, reload }, rows, empty, children }: Props<T>) {
  return (
    <>
      <ErrorMessage problem={problem} retry={reload} />
      {data ? (data.data.length === 0 ? empty : children(data.data)) : !problem && <Loading rows={rows} />}
    </>
  )
}

type PagerProps = {
  /** Where the list is, and the fields of its address: `cursor` is where its page begins. */
  path: string
  query: Record<string, string | undefined>
  /** Where the next page begins, if there is one. */
  next: string | null | undefined
  words?: readonly [first: string, next: string]
}

/** Links to the first page of a list and to the next one. */
export const Pager = ({ path, query, next, words: [first, further] = [t.frame.newest, t.frame.older] }: PagerProps) => (
  <p class="pager">
    {query['cursor'] && <a href={withFields(path, query, { cursor: undefined })}>{first}</a>}
    {next && <a href={withFields(path, query, { cursor: next })}>{further}</a>}
  </p>
)
