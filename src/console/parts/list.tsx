/**
 * A list that is loaded: its error, its placeholder while loading, its text when empty, or its items.
 */
import type { ComponentChildren } from 'preact'
import type { Data } from '../api/endpoints.ts'
import type { Loaded } from '../state/load.ts'
import { ErrorMessage, Loading } from './basics.tsx'

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
