/**
 * A file of the API, on demand. It is fetched with the session, which a plain link could not carry.
 */
import { t } from '../language/language.ts'
import { fetchFile } from '../api/client.ts'
import { Action, ErrorMessage } from './basics.tsx'
import { useSubmit } from './forms.tsx'

/** How long the browser may take to begin writing a file, in ms. */
const BEGIN_MS = 10_000

function save(name: string, file: Blob): void {
  const url = URL.createObjectURL(file)
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), BEGIN_MS)
}

/** Asks for a byte order mark: without one, spreadsheets take UTF-8 for an older encoding. */
const forSpreadsheets = (path: string): string => `${path}${path.includes('?') ? '&' : '?'}bom`

/** Downloads `path` as a file of this name. */
export function Download({ path, name }: { path: string; name: string }) {
  const { busy, problem, run } = useSubmit()
  return (
    <span class="row">
      <ErrorMessage problem={problem} />
      <Action
        class="quiet small"
        busy={busy}
        busyText={t.frame.collecting}
        onClick={() => run(async () => save(name, await fetchFile(forSpreadsheets(path))))}
      >
        {t.frame.downloadCsv}
      </Action>
    </span>
  )
}
