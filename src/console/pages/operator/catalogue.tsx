/**
 * The catalogue: its prices in a form next to its text, what a change would do before it is applied, and its history.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { CatalogueChange, CatalogueCheck, CatalogueVersion } from '../../api/operator.ts'
import {
  applyCatalogue,
  checkCatalogue,
  getCatalogue,
  getVersion,
  getVersions,
  rollBackTo,
} from '../../api/operator.ts'
import { Problem } from '../../api/client.ts'
import { Action, Empty, ErrorMessage, Loading, Time } from '../../parts/basics.tsx'
import { Confirm, Dialog } from '../../parts/dialogs.tsx'
import { Field, PasswordField, useSubmit } from '../../parts/forms.tsx'
import { List } from '../../parts/list.tsx'
import { useHasPassword } from '../../parts/own-password.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'
import { CatalogueForms } from './catalogue-forms.tsx'
import { placeOf, withoutPath } from './places.ts'
import { PriceForm } from './price-form.tsx'

const words = t.catalogue

export function CatalogueSection() {
  const current = useLoad('catalogue', getCatalogue)
  const versions = useLoad('catalogue versions', getVersions)
  const { data, problem } = current
  const reload = (): void => {
    current.reload()
    versions.reload()
  }
  return (
    <>
      <ErrorMessage problem={problem} retry={current.reload} />
      {data ? <Editor version={data.version} catalogue={data.catalogue} done={reload} /> : !problem && <Loading />}
      <section class="panel">
        <h2>{words.history}</h2>
        <List of={versions} empty={<Empty title={words.noVersions} />}>
          {(items) => <History versions={items} current={data?.version ?? 0} done={reload} />}
        </List>
      </section>
    </>
  )
}

const textOf = (catalogue: unknown): string => JSON.stringify(catalogue, null, 2)

/** The content of a text; the reason why where it is not JSON. */
function read(text: string): { catalogue: unknown; fault: null } | { fault: string } {
  try {
    return { catalogue: JSON.parse(text) as unknown, fault: null }
  } catch (error) {
    return { fault: words.notJson((error as Error).message) }
  }
}

type EditorProps = { version: number; catalogue: unknown; done: () => void }

/**
 * Edits one version. `seen` is the version that the last comparison was with: only that one is replaced. What was typed
 * stays, even if others apply a version meanwhile.
 */
function Editor({ version, catalogue, done }: EditorProps) {
  const [base, setBase] = useState({ version, text: textOf(catalogue) })
  const [text, setText] = useState(base.text)
  const [check, setCheck] = useState<CatalogueCheck | null>(null)
  const [note, setNote] = useState('')
  const [password, setPassword] = useState('')
  const { busy, problem, run } = useSubmit()
  // A newer version is shown where nothing was typed; else the comparison shows what it means for what was.
  if (version > base.version) {
    if (text === base.text) setText(textOf(catalogue))
    setBase({ version, text: textOf(catalogue) })
  }
  const given = read(text)
  const edit = (next: string): void => {
    setText(next)
    setCheck(null)
  }
  const compare = (): void =>
    run(async () => {
      if (given.fault === null) setCheck(await checkCatalogue(given.catalogue))
    })
  const apply = (): void =>
    run(async () => {
      if (given.fault !== null || !check) return
      const sent = { catalogue: given.catalogue, expect: check.version, ...(note.trim() && { note }) }
      await untilRight(() => applyCatalogue({ ...sent, ...(check.needsPassword && { password }) }), {
        over: () => {
          // After a conflict, too: what was compared with is no longer the current version.
          setCheck(null)
          setPassword('')
          done()
        },
      })
      setNote('')
      // What was typed is applied: the version that comes back takes its place, with masks for what is secret.
      setBase({ ...base, text })
    })
  return (
    <section class="panel" data-testid="catalogue">
      <h2>{words.versionOf(base.version)}</h2>
      <Sides text={text} edit={edit} />
      <ErrorMessage problem={problem} />
      {problem?.code === 'conflict' && <p>{words.kept}</p>}
      {check && <Findings check={check} catalogue={given.fault === null ? given.catalogue : null} />}
      {check && check.faults.length === 0 && check.changes.length > 0 ? (
        <>
          <Note value={note} put={setNote} />
          {check.needsPassword && <OwnPassword value={password} put={setPassword} />}
          <Apply version={check.version + 1} atLoss={check.losses.length > 0} busy={busy} apply={apply} />
        </>
      ) : (
        <Action busy={busy} busyText={words.comparing} onClick={compare}>
          {words.check}
        </Action>
      )}
    </section>
  )
}

type ApplyProps = { version: number; atLoss: boolean; busy: boolean; apply: () => void }

/** Applies what was compared. Asks once more where something would sell below its cost. */
function Apply({ version, atLoss, busy, apply }: ApplyProps) {
  const [asking, setAsking] = useState(false)
  return (
    <>
      <Action busy={busy} busyText={words.applying} onClick={atLoss ? () => setAsking(true) : apply}>
        {words.applyAs(version)}
      </Action>
      {asking && (
        <Confirm
          title={words.lossTitle}
          verb={words.applyAtLoss}
          busyText={words.applying}
          danger
          close={() => setAsking(false)}
          work={async () => apply()}
        >
          {words.atLoss}
        </Confirm>
      )}
    </>
  )
}

/** Does something; `over` where it is done or fails, unless a wrong password can be typed again. */
async function untilRight(work: () => Promise<unknown>, { over }: { over: () => void }): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'wrong_password')) over()
    throw error
  }
  over()
}

const Note = ({ value, put }: { value: string; put: (value: string) => void }) => (
  <Field label={t.accounts.note} value={value} maxLength={500} onInput={(event) => put(event.currentTarget.value)} />
)

const OwnPassword = ({ value, put }: { value: string; put: (value: string) => void }) =>
  useHasPassword() ? (
    <PasswordField
      label={t.entrance.yourPassword}
      autoComplete="current-password"
      hint={words.passwordHint}
      value={value}
      onInput={(event) => put(event.currentTarget.value)}
    />
  ) : null

/** The form of the prices, and the text next to it: what is typed in one appears in the other. */
function Sides({ text, edit }: { text: string; edit: (text: string) => void }) {
  const given = read(text)
  return (
    <div class="columns">
      {given.fault === null ? (
        <div>
          <CatalogueForms catalogue={given.catalogue} change={(next) => edit(textOf(next))} />
          <PriceForm catalogue={given.catalogue} change={(next) => edit(textOf(next))} />
        </div>
      ) : (
        <ErrorMessage problem={given.fault} />
      )}
      <label class="source">
        {words.asJson}

        <textarea spellcheck={false} rows={24} value={text} onInput={(event) => edit(event.currentTarget.value)} />
      </label>
    </div>
  )
}

/** What is wrong with a catalogue, and what it would change. */
type FindingsProps = { check: CatalogueCheck; catalogue: unknown }

function Findings({ check: { version, faults, losses, warnings, changes }, catalogue }: FindingsProps) {
  return (
    <div role="status" data-testid="findings">
      {faults.length > 0 && <Places title={words.faults} places={faults} catalogue={catalogue} />}
      {losses.length > 0 && <Places title={words.losses} places={losses} catalogue={catalogue} />}
      {warnings.length > 0 && <Places title={words.warnings} places={warnings} catalogue={catalogue} />}
      {faults.length === 0 && <Changes title={words.comparedWith(version)} changes={changes} />}
    </div>
  )
}

type PlacesProps = { title: string; places: CatalogueCheck['faults']; catalogue: unknown }

const Places = ({ title, places, catalogue }: PlacesProps) => (
  <>
    <h3>{title}</h3>
    <ul class="places">
      {places.map(({ path, message }) => {
        const { of, field } = placeOf(path, catalogue)
        return (
          <li key={`${path} ${message}`} title={path}>
            {of && <strong>{of}: </strong>}
            {field && <code>{field}</code>} {t.errors.sentence(withoutPath(message, path))}
          </li>
        )
      })}
    </ul>
  </>
)

const valueText = (value: unknown): string => (value === null ? t.words.fields.none : JSON.stringify(value))

function Changes({ title, changes }: { title: string; changes: CatalogueChange[] }) {
  return (
    <>
      <h3>{title}</h3>
      {changes.length === 0 && <p>{words.nothing}</p>}
      <ul class="places">
        {changes.map(({ part, name, change, fields }) => (
          <li key={`${part} ${name}`}>
            <strong>
              {words.parts[part]}
              {name}
            </strong>{' '}
            {words.changes[change]}
            {change === 'changed' &&
              fields.map(({ path, before, after }) => (
                <div key={path}>
                  {path && <code>{path}</code>} <del>{valueText(before)}</del> → <ins>{valueText(after)}</ins>
                </div>
              ))}
          </li>
        ))}
      </ul>
    </>
  )
}

type HistoryProps = { versions: CatalogueVersion[]; current: number; done: () => void }

function History({ versions, current, done }: HistoryProps) {
  const [asked, setAsked] = useState<number | null>(null)
  const columns: Column<CatalogueVersion>[] = [
    { header: words.version, right: true, cell: ({ version }) => version },
    { header: words.applied, cell: ({ appliedAt }) => <Time iso={appliedAt} /> },
    { header: words.by, cell: ({ by }) => (by === 'command line' ? t.records.commandLine : by) },
    { header: t.accounts.note, cell: ({ note }) => note },
    {
      header: words.rollBack,
      hidden: true,
      right: true,
      cell: ({ version }) =>
        version === current ? (
          words.current
        ) : (
          <button
            type="button"
            class="small quiet"
            aria-label={words.rollBackTo(version)}
            onClick={() => setAsked(version)}
          >
            {words.rollBack}
          </button>
        ),
    },
  ]
  return (
    <>
      <Table label={words.versions} columns={columns} rows={versions} keyOf={({ version }) => String(version)} />
      {asked !== null && <AskBack version={asked} current={current} close={() => setAsked(null)} done={done} />}
    </>
  )
}

type AskProps = { version: number; current: number; close: () => void; done: () => void }

/** Shows what going back would change before it does it. */
function AskBack({ version, current, close, done }: AskProps) {
  const { data, problem, reload } = useLoad(`catalogue ${version} from ${current}`, () => getVersion(version))
  const back = useSubmit()
  const [password, setPassword] = useState('')
  const goBack = (): void =>
    back.run(async () => {
      const sent = { expect: current, ...(data?.needsPassword && { password }) }
      await untilRight(() => rollBackTo(version, sent), { over: done })
      close()
    })
  return (
    <Dialog title={words.rollBackTitle(version)} close={close}>
      <ErrorMessage problem={problem} retry={reload} />
      {data ? <Changes title={words.comparedWith(current)} changes={data.changes} /> : !problem && <Loading />}
      {data?.needsPassword && <OwnPassword value={password} put={setPassword} />}
      <ErrorMessage problem={back.problem} />
      <Action busy={back.busy} busyText={words.rollingBack} onClick={goBack}>
        {words.rollBack}
      </Action>
    </Dialog>
  )
}
