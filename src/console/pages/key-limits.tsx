/**
 * The limits of a key: their fields, and the dialogs that change them or the secret.
 */
import { useState } from 'preact/hooks'
import { t } from '../language/language.ts'
import type { ApiKey, KeyLimits } from '../api/endpoints.ts'
import { changeKey, getModels, rotateKey } from '../api/endpoints.ts'
import { Action, ErrorMessage } from '../parts/basics.tsx'
import { BudgetFields, budgetOf } from '../parts/budget.tsx'
import { Dialog } from '../parts/dialogs.tsx'
import { Choice, Field, Form, FormError, Submit, useSubmit } from '../parts/forms.tsx'
import { MODALITIES } from '../../shared/terms/kinds.ts'
import { SecretDialog } from '../parts/secret-dialog.tsx'
import { useLoad } from '../state/load.ts'

const words = t.keys

type Texts = Record<string, string>

/** The name of the box that lets a key make calls of a kind. */
const boxOf = (kind: string): string => `modality-${kind}`

/** What the names of the boxes begin with that let a key call a model. */
const MODEL_BOX = 'model-'

/** The limits of a key as texts of its form; empty without a limit. */
const textsOf = (key: ApiKey | null): Texts => ({
  modalities: MODALITIES.filter((kind) => key?.modalities?.includes(kind)).join(', '),
  allowedIps: key?.allowedIps?.join(', ') ?? '',
  expiresAt: key?.expiresAt?.slice(0, 10) ?? '',
  rateLimit: key?.rateLimit ? String(key.rateLimit) : '',
  maxOutstanding: key?.maxOutstanding ? String(key.maxOutstanding) : '',
  tokensPerMinute: key?.tokensPerMinute ? String(key.tokensPerMinute) : '',
})

const listOf = (text: string): string[] | null => {
  const parts = text.split(/[\s,]+/).filter(Boolean)
  return parts.length > 0 ? parts : null
}
const numberOf = (text: string): number | null => (text.trim() === '' ? null : Number(text))

/** The names of the boxes of a form that are ticked, without what all of them begin with. */
const ticked = (texts: Texts, start: string): string[] =>
  Object.keys(texts).flatMap((name) => (name.startsWith(start) ? [name.slice(start.length)] : []))

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((name) => other.includes(name))

/** What the texts of a form ask for, beyond what the key has. A field that was emptied lifts its limit. */
export function limitsOf(texts: Texts, key: ApiKey | null): KeyLimits {
  const before = textsOf(key)
  const changed = (name: string): boolean => (texts[name] ?? '') !== before[name]
  const text = (name: string): string => texts[name] ?? ''
  const kinds = MODALITIES.filter((kind) => boxOf(kind) in texts)
  const models = ticked(texts, MODEL_BOX)
  return {
    ...budgetOf(texts, key?.budget ?? null),
    ...(!isSame(models, key?.models ?? []) && { models: models.length === 0 ? null : models }),
    ...(kinds.join(', ') !== before['modalities'] && { modalities: kinds.length === 0 ? null : kinds }),
    ...(changed('allowedIps') && { allowedIps: listOf(text('allowedIps')) }),
    ...(changed('expiresAt') && { expiresAt: text('expiresAt') === '' ? null : `${text('expiresAt')}T00:00:00Z` }),
    ...(changed('rateLimit') && { rateLimit: numberOf(text('rateLimit')) }),
    ...(changed('maxOutstanding') && { maxOutstanding: numberOf(text('maxOutstanding')) }),
    ...(changed('tokensPerMinute') && { tokensPerMinute: numberOf(text('tokensPerMinute')) }),
  }
}

/** The fields of a form that limits a key. */
export function LimitFields({ apiKey }: { apiKey: ApiKey | null }) {
  const texts = textsOf(apiKey)
  return (
    <>
      <BudgetFields budget={apiKey?.budget ?? null} hint={words.budgetHint} />
      <ModelBoxes chosen={apiKey?.models ?? []} />
      <fieldset class="kinds">
        <legend>{words.kinds}</legend>
        {MODALITIES.map((kind) => (
          <label key={kind} class="check">
            <input type="checkbox" name={boxOf(kind)} defaultChecked={apiKey?.modalities?.includes(kind)} />
            {t.words.plurals[kind]}
          </label>
        ))}
        <small class="soft">{words.noneForAll}</small>
      </fieldset>
      <Field label={words.addresses} name="allowedIps" defaultValue={texts.allowedIps} hint={words.addressesHint} />
      <Field label={words.expiry} name="expiresAt" type="date" defaultValue={texts.expiresAt} />
      <Field label={words.rate} name="rateLimit" type="number" min={1} defaultValue={texts.rateLimit} />
      <Field label={words.atOnce} name="maxOutstanding" type="number" min={1} defaultValue={texts.maxOutstanding} />
      <Field label={words.tokens} name="tokensPerMinute" type="number" min={1} defaultValue={texts.tokensPerMinute} />
    </>
  )
}

/** The models to choose from, and those of the key that are not offered any more. */
function ModelBoxes({ chosen }: { chosen: readonly string[] }) {
  const models = useLoad('models', getModels)
  const offered = models.data?.data.map(({ id }) => id)
  return (
    <fieldset class="kinds">
      <legend>{words.models}</legend>
      {[...new Set([...(offered ?? []), ...chosen])].map((id) => (
        <label key={id} class="check">
          <input type="checkbox" name={`${MODEL_BOX}${id}`} defaultChecked={chosen.includes(id)} />
          {id}
          {offered && !offered.includes(id) && <small class="soft">{words.notOffered}</small>}
        </label>
      ))}
      <small class="soft">{words.noneForAll}</small>
      <ErrorMessage problem={models.problem} retry={models.reload} />
    </fieldset>
  )
}

type Props = { apiKey: ApiKey; close: () => void; changed: (key: ApiKey) => void }

type Change = (id: string, limits: KeyLimits) => Promise<{ key: ApiKey; warnings?: string[] }>

/** Changes the limits of a key. Operators pass a `change` of their own, which changes any key. */
export function EditKey({ apiKey, close, changed, change = changeKey }: Props & { change?: Change }) {
  const { busy, problem, submits } = useSubmit()
  const [warnings, setWarnings] = useState<string[]>([])
  const submit = submits(async (texts) => {
    const { key, warnings: reported } = await change(apiKey.id, limitsOf(texts, apiKey))
    changed(key)
    if (reported) setWarnings(reported)
    else close()
  })
  return (
    <Dialog title={words.limitsOf(apiKey.name)} close={close}>
      <Form problem={problem} onSubmit={submit}>
        <LimitFields apiKey={apiKey} />
        <FormError />
        {warnings.map((warning) => (
          <div class="notice" role="status" key={warning}>
            {words.saved(t.errors.sentence(warning))}
          </div>
        ))}
        <div class="foot">
          <Action type="submit" busy={busy} busyText={t.settings.saving}>
            {words.saveLimits}
          </Action>
        </div>
      </Form>
    </Dialog>
  )
}

const GRACES = [
  ['0', words.graces.now],
  ['3600', words.graces.hour],
  ['86400', words.graces.day],
  ['604800', words.graces.week],
] as const

/** Gives a key another secret, which is shown until the dialog is closed. */
export function RotateKey({ apiKey, close, changed }: Props) {
  const { busy, problem, submits } = useSubmit()
  const [secret, setSecret] = useState<string | null>(null)
  const submit = submits(async ({ grace = '0' }) => {
    const answer = await rotateKey(apiKey.id, Number(grace))
    setSecret(answer.secret)
    changed(answer.key)
  })
  if (secret !== null) {
    return <SecretDialog title={words.newSecretTitle} secret={secret} close={close} />
  }
  return (
    <Dialog title={words.rotateTitle(apiKey.name)} close={close}>
      <Form problem={problem} onSubmit={submit}>
        <p>{words.rotation}</p>
        {apiKey.secretEndedAt === null && <Choice label={words.oldSecret} name="grace" options={GRACES} />}
        <Submit busy={busy} busyText={words.rotating} verb={words.rotateKey} />
      </Form>
    </Dialog>
  )
}
