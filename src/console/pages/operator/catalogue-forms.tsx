/**
 * Forms that add and edit upstreams and models. They write into the text of the catalogue, which is then checked,
 * compared and applied as a whole.
 */
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { asFields, asList, isFields } from '../../../shared/platform/fields.ts'
import type { Modality } from '../../../shared/terms/kinds.ts'
import { MODALITIES, isModality } from '../../../shared/terms/kinds.ts'
import { Dialog } from '../../parts/dialogs.tsx'
import { Check, Choice, Field, fieldsOf } from '../../parts/forms.tsx'
import {
  PRICE_FIELDS,
  costFields,
  dollarsOf,
  headerLines,
  keyLines,
  withModel,
  withUpstream,
} from './catalogue-edits.ts'
import type { Texts } from './catalogue-edits.ts'

const words = t.catalogue

type Props = { catalogue: unknown; change: (catalogue: unknown) => void }

/** What is edited: an upstream by its name, a model by its place; null for a new one. */
type Edited = { upstream: string | null } | { model: number | null }

export function CatalogueForms({ catalogue, change }: Props) {
  const [edited, setEdited] = useState<Edited | null>(null)
  const { upstreams, models } = asFields(catalogue)
  const names = Object.keys(asFields(upstreams))
  const close = (): void => setEdited(null)
  return (
    <>
      <Things kind="upstream" names={names} edit={(at) => setEdited({ upstream: at === null ? null : names[at]! })} />
      <Things
        kind="model"
        names={asList(models).map((model) => String(asFields(model).id))}
        edit={(model) => setEdited({ model })}
      />
      {edited && 'upstream' in edited && (
        <UpstreamForm catalogue={catalogue} change={change} name={edited.upstream} close={close} />
      )}
      {edited && 'model' in edited && (
        <ModelForm catalogue={catalogue} change={change} at={edited.model} close={close} />
      )}
    </>
  )
}

type ThingsProps = { kind: 'upstream' | 'model'; names: string[]; edit: (at: number | null) => void }

/** A button for each upstream or model, and one for a new one. */
const Things = ({ kind, names, edit }: ThingsProps) => (
  <div class="row things" role="group" aria-label={kind === 'upstream' ? t.words.fields.upstreams : words.models}>
    <strong>{kind === 'upstream' ? t.words.fields.upstreams : words.models}</strong>
    {names.map((name, at) => (
      <button
        key={`${at} ${name}`}
        type="button"
        class="small quiet"
        aria-label={words.edit[kind](name)}
        onClick={() => edit(at)}
      >
        {name}
      </button>
    ))}
    <button type="button" class="small" onClick={() => edit(null)}>
      {words.add[kind]}
    </button>
  </div>
)

/** The protocols that upstreams speak. */
const PROTOCOLS = Object.entries(words.protocols)

/** The value of a field as its text; empty where there is none. */
const textOf = (fields: Fields, name: string): string => {
  const value = fields[name]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

type DialogProps = { title: string; close: () => void; write: (texts: Texts) => void; children: ComponentChildren }

/** A form in a dialog, which closes when it has been written. */
const FormDialog = ({ title, close, write, children }: DialogProps) => (
  <Dialog title={title} close={close}>
    <form
      onSubmit={(event) => {
        write(fieldsOf(event))
        close()
      }}
    >
      {children}
      <p class="soft">{words.notYet}</p>
      <button type="submit">{words.write}</button>
    </form>
  </Dialog>
)

function UpstreamForm({ catalogue, change, name, close }: Props & { name: string | null; close: () => void }) {
  const before = asFields(name === null ? undefined : asFields(asFields(catalogue).upstreams)[name])
  return (
    <FormDialog
      title={name === null ? words.addUpstream : words.upstreamOf(name)}
      close={close}
      write={(texts) => change(withUpstream(catalogue, name, texts))}
    >
      {name === null && <Field label={t.frame.name} name="name" required maxLength={100} />}
      <Choice
        label={words.protocol}
        name="protocol"
        options={PROTOCOLS}
        value={textOf(before, 'protocol') || 'openai'}
      />
      <Field
        label={t.words.fields.address}
        name="baseUrl"
        type="url"
        required
        placeholder="https://api.openai.com/v1"
        defaultValue={textOf(before, 'baseUrl')}
      />
      <Field
        label={words.keyVariable}
        name="apiKeyEnv"
        pattern="[A-Za-z_][A-Za-z0-9_]*"
        placeholder="OPENAI_API_KEY"
        defaultValue={textOf(before, 'apiKeyEnv')}
        hint={words.keyHint}
      />
      <Lines label={words.pool} name="keys" value={keyLines(before.keys)} hint={words.poolHint} />
      <Lines label={words.headers} name="headers" value={headerLines(before.headers)} hint={words.headersHint} />
      <Field
        label={words.atOnce}
        name="concurrency"
        type="number"
        min={1}
        defaultValue={textOf(before, 'concurrency')}
        hint={words.atOnceHint}
      />
    </FormDialog>
  )
}

type LinesProps = { label: string; name: string; value: string; hint: string }

/** A field of several lines, folded while it is empty. */
function Lines({ label, name, value, hint }: LinesProps) {
  const id = useId()
  return (
    <details open={value !== ''}>
      <summary>{label}</summary>
      <div class="field">
        <label for={id}>{label}</label>
        <textarea id={id} name={name} rows={3} defaultValue={value} aria-describedby={`${id}-hint`} />
        <small id={`${id}-hint`}>{hint}</small>
      </div>
    </details>
  )
}

const KINDS: readonly (readonly [string, string])[] = MODALITIES.map((kind) => [kind, t.words.kinds[kind]])

function ModelForm({ catalogue, change, at, close }: Props & { at: number | null; close: () => void }) {
  const { models, upstreams } = asFields(catalogue)
  const before = asFields(at === null ? undefined : asList(models)[at])
  return (
    <FormDialog
      title={at === null ? words.addModel : words.modelOf(String(before.id))}
      close={close}
      write={(texts) => change(withModel(catalogue, at, texts))}
    >
      {at === null && <Field label="ID" name="id" required maxLength={200} hint={words.idHint} />}
      <Field label={t.frame.name} name="name" maxLength={200} defaultValue={textOf(before, 'name')} />
      <Field
        label={words.description}
        name="description"
        maxLength={2000}
        defaultValue={textOf(before, 'description')}
      />
      <Entries
        kind={isModality(before.modality) ? before.modality : null}
        entries={asList(before.upstreams).filter(isFields)}
        names={Object.keys(asFields(upstreams))}
      />
      {at === null ? <FirstPrice /> : <p class="soft">{words.pricesBehind}</p>}
      <Check name="enabled" checked={before.enabled !== false}>
        {words.offered}
      </Check>
    </FormDialog>
  )
}

/** The kind of a new model, and its price: apart, so that a change of the kind renders no other field again. */
function FirstPrice() {
  const [kind, setKind] = useState<Modality>('chat')
  return (
    <>
      <Choice
        label={t.words.fields.kind}
        name="modality"
        options={KINDS}
        value={kind}
        onChange={(event) => setKind(event.currentTarget.value as Modality)}
      />
      {PRICE_FIELDS[kind].map(([name, label]) => (
        <Field
          key={`${kind} ${name}`}
          label={label}
          name={name}
          type="number"
          min={0}
          step={1}
          required
          defaultValue={name === 'minimum' ? '1' : ''}
        />
      ))}
      <Costs kind={kind} at={0} cost={undefined} />
    </>
  )
}

/** The upstreams of a model in their order, and a place for one more. */
const Entries = ({ kind, entries, names }: { kind: Modality | null; entries: Fields[]; names: string[] }) => (
  <>
    {[...entries, {}].map((entry, at) => {
      const which = at === 0 ? '' : ` ${at + 1}`
      return (
        <div key={at} class="pair">
          <Choice
            label={words.upstreamNth(which)}
            name={`upstream-${at}`}
            options={[['', words.noUpstream], ...names.map((name) => [name, name] as const)]}
            value={textOf(entry, 'upstream')}
          />
          <Field
            label={words.nameThere(which)}
            name={`model-${at}`}
            maxLength={200}
            defaultValue={textOf(entry, 'model')}
          />
          {kind && <Costs kind={kind} at={at} cost={(entry as Fields).cost} />}
        </div>
      )
    })}
  </>
)

type CostsProps = { kind: Modality; at: number; cost: unknown }

/** What calls of a model cost at one of its upstreams, in dollars. Empty: unknown. */
const Costs = ({ kind, at, cost }: CostsProps) => (
  <>
    {costFields(kind, cost).map((name) => (
      <Field
        key={`${kind} ${name}`}
        label={words.costs[name as keyof typeof words.costs] + (at === 0 ? '' : ` ${at + 1}`)}
        name={`cost-${at}-${name}`}
        inputMode="decimal"
        defaultValue={dollarsOf(kind, cost, name)}
      />
    ))}
  </>
)
