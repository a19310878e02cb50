/**
 * Opens the search, by a press or by Ctrl K; its code is fetched then.
 */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Search as Magnifier } from 'lucide-preact'
import { t } from '../language/language.ts'

type Dialog = ComponentType<{ close: () => void }>

let loaded: Dialog | undefined

export function SearchButton() {
  const [open, setOpen] = useState(false)
  const [, setReady] = useState(false)
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setOpen(true)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  useEffect(() => {
    if (!open || loaded) return
    import('./search.tsx').then(
      ({ Search }) => {
        loaded = Search
        setReady(true)
      },
      () => setOpen(false),
    )
  }, [open])
  const Search = loaded
  return (
    <>
      <button type="button" class="quiet search-button" title={t.frame.search.shortcut} onClick={() => setOpen(true)}>
        <Magnifier size={17} aria-hidden="true" />
        <span class="hidden">{t.frame.search.title}</span>
      </button>
      {open && Search && <Search close={() => setOpen(false)} />}
    </>
  )
}
