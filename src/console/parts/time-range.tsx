/**
 * A range of time in the reader's own zone, which is a part of the address.
 */
import { t } from '../language/language.ts'
import { endMs, fieldText, momentOf, startMs, zoneText } from '../state/zone.ts'
import { Field } from './forms.tsx'

const words = t.calls.list

type Props = {
  /** The address: `from` and `to` are days in UTC, or moments. */
  query: Record<string, string | undefined>
  set: (changes: { from?: string; to?: string }) => void
}

export function TimeRange({ query: { from, to }, set }: Props) {
  const zone = zoneText()
  return (
    <>
      <Field
        label={words.from}
        type="datetime-local"
        value={from ? fieldText(startMs(from)) : ''}
        title={zone}
        onChange={(event) => set({ from: momentOf(event.currentTarget.value, 'first') })}
      />
      <Field
        label={words.to}
        type="datetime-local"
        value={to ? fieldText(endMs(to)) : ''}
        title={zone}
        onChange={(event) => set({ to: momentOf(event.currentTarget.value, 'last') })}
      />
      <small class="soft zone">{words.zone(zone)}</small>
    </>
  )
}
