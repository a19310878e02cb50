/**
 * What pages show: asked for when they open, cached so that going back shows it at once while it is asked for again.
 */
import { effect, untracked } from '@preact/signals'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Problem } from '../api/client.ts'
import { problemOf } from '../api/client.ts'
import { token } from './session.ts'

const kept = new Map<string, unknown>()

// The next person at this browser must not see what the last one saw.
effect(() => {
  if (token.value === null) kept.clear()
})

/** The pages that show each key now, by the function that asks for it again. */
const showing = new Map<string, Set<() => void>>()

function show(key: string, reload: () => void): () => void {
  const shown = showing.get(key) ?? new Set()
  showing.set(key, shown.add(reload))
  return () => {
    shown.delete(reload)
    if (shown.size === 0) showing.delete(key)
  }
}

/** `data` stays while it is asked for again. `change` edits what is shown, after an event or an action of the page. */
export type Loaded<T> = {
  data: T | undefined
  problem: Problem | null
  reload: () => void
  change: (edit: (data: T) => T) => void
}

/** Loads `key` by `ask`, again whenever the key changes. */
export function useLoad<T>(key: string, ask: () => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; data: T | undefined; problem: Problem | null }>(() => ({
    key,
    data: kept.get(key) as T | undefined,
    problem: null,
  }))
  const current = useRef(key)
  const latest = useRef(ask)
  current.current = key
  latest.current = ask

  const { reload, change } = useMemo(() => {
    // Answers can overtake each other: an older one replaces no newer one.
    let begun = 0
    let settled = 0
    let edited = false
    const settle = (nth: number, data: T | undefined, problem: Problem | null): void => {
      if (nth < settled) return
      settled = nth
      if (data !== undefined) kept.set(key, data)
      if (current.current !== key) return
      setState((old) => ({ key, data: data ?? (old.key === key ? old.data : undefined), problem }))
      // What was edited meanwhile may have been read before that.
      if (edited && settled === begun) reloadNow()
    }
    const reloadNow = (): void => {
      edited = false
      const nth = ++begun
      untracked(latest.current).then(
        (data) => settle(nth, data, null),
        (thrown: unknown) => settle(nth, undefined, problemOf(thrown)),
      )
    }
    const edit = (changed: (data: T) => T): void => {
      edited = settled < begun
      setState((old) => {
        if (old.key !== key || old.data === undefined) return old
        const data = changed(old.data)
        kept.set(key, data)
        return { ...old, data }
      })
      // An action may end when its page was left: what was opened since may have been read before that.
      for (const again of showing.get(key) ?? []) if (again !== reloadNow) again()
    }
    return { reload: reloadNow, change: edit }
  }, [key])

  // While the page is being made, not after it was drawn: the answer is on its way a tenth of a second earlier.
  const asked = useRef<string | null>(null)
  if (asked.current !== key) {
    asked.current = key
    reload()
  }
  useLayoutEffect(() => show(key, reload), [key, reload])
  // On a new key the old data is no answer, unless that key was shown before.
  const data = state.key === key ? state.data : (kept.get(key) as T | undefined)
  return { data, problem: state.key === key ? state.problem : null, reload, change }
}
