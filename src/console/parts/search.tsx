/**
 * One search over everything: pages, models, keys, guides, ids, and for operators accounts. Ctrl K opens it.
 */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { t } from '../language/language.ts'
import type { Place } from '../state/places.ts'
import { knownPlaces, matching, operatorsPlaces } from '../state/places.ts'
import { Dialog } from './dialogs.tsx'

/** Typing pauses this long before accounts are searched, in ms. */
const PAUSE_MS = 250

/** The accounts that a text finds, a moment after it was typed. */
function useAccounts(text: string): Place[] {
  const [found, setFound] = useState<{ text: string; places: Place[] }>({ text: '', places: [] })
  useEffect(() => {
    let over = false
    const timer = setTimeout(() => {
      operatorsPlaces(text).then(
        (places) => {
          if (!over) setFound({ text, places })
        },
        () => {},
      )
    }, PAUSE_MS)
    return () => {
      over = true
      clearTimeout(timer)
    }
  }, [text])
  return found.text === text ? found.places : []
}

type FoundProps = { places: readonly Place[]; at: number; go: (place: Place) => void }

const Found = ({ places, at, go }: FoundProps) => (
  <ul id="found" class="found" role="listbox" aria-label={t.frame.search.found}>
    {places.map((place, nth) => (
      <li
        key={`${place.kind} ${place.href}`}
        id={`found-${nth}`}
        role="option"
        aria-selected={nth === at}
        onClick={() => go(place)}
      >
        <span>
          {place.name} {place.note && place.note !== place.name && <small class="soft">{place.note}</small>}
        </span>
        <small class="soft">{place.kind}</small>
      </li>
    ))}
  </ul>
)

export function Search({ close }: { close: () => void }) {
  const { route } = useLocation()
  const [known, setKnown] = useState<Place[]>([])
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  useEffect(() => {
    void knownPlaces().then(setKnown)
  }, [])
  const accounts = useAccounts(text)
  const own = matching(known, text)
  const places = [...own, ...accounts.filter(({ href }) => own.every((one) => one.href !== href))]
  const at = Math.min(chosen, places.length - 1)
  const go = (place: Place | undefined): void => {
    if (!place) return
    close()
    route(place.href)
  }
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setChosen((at + step + places.length) % Math.max(1, places.length))
    } else if (event.key === 'Enter') {
      event.preventDefault()
      go(places[at])
    }
  }
  return (
    <Dialog title={t.frame.search.title} close={close} wide>
      <input
        type="search"
        autoFocus
        role="combobox"
        aria-label={t.frame.search.title}
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={places.length > 0 ? `found-${at}` : undefined}
        placeholder={t.frame.search.hint}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={press}
      />
      <Found places={places} at={at} go={go} />
      <p class="soft" role="status">
        {places.length === 0 ? t.frame.search.nothing : ''}
      </p>
    </Dialog>
  )
}
