/**
 * Images, edited images and videos, with how far they are.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import {
  MAX_PICTURES,
  MAX_PROMPT,
  defaultDuration,
  durationChoices,
  offeredResolutions,
} from '../../../shared/requests/media-options.ts'
import type { ModelEntry } from '../../api/endpoints.ts'
import type { MediaFields } from '../../api/call-forms.ts'
import { Action, Empty, ErrorMessage } from '../../parts/basics.tsx'
import { Choice, Field } from '../../parts/forms.tsx'
import { AllMedia } from '../../parts/call-details.tsx'
import type { Work } from '../../state/media-work.ts'
import { makeMedia, works } from '../../state/media-work.ts'
import { AsCode, Ceiling, ModelChoice, Receipt, Setup } from './parts.tsx'
import { ceilingOf } from './ceiling.ts'
import { useQuote } from './quote.ts'

const words = t.playground

/** The largest picture that fits into a request of 1 MB as a data: address. */
const MAX_READER_BYTES = 700_000

const dataUrl = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(reader.result as string)
    reader.onerror = () => reject(new Error(words.unreadable))
    reader.readAsDataURL(file)
  })

type Props = { kind: 'image' | 'video'; models: ModelEntry[]; model: ModelEntry; choose: (id: string) => void }

export function MediaPlayground({ kind, models, model, choose }: Props) {
  const work = works[kind].value
  const [prompt, setPrompt] = useState('')
  const [image, setImage] = useState('')
  const [latest, setLatest] = useState<Chosen>(NOTHING)
  const chosen = stillOffered(kind, model, latest)
  const fields: MediaFields = {
    model: model.id,
    prompt: prompt || words.example,
    ...(image && { image_url: image }),
    ...(chosen.resolution && { resolution: chosen.resolution }),
    ...(chosen.duration && { duration: Number(chosen.duration) }),
    ...(chosen.size && { size: chosen.size }),
    ...(chosen.quality && { quality: chosen.quality }),
    ...(chosen.n && { n: Number(chosen.n) }),
  }
  const most = useQuote(kind, fields, ceilingOf(model) * (fields.n ?? 1))
  const shown = { ...fields, ...(image.startsWith('data:') && { image_url: `${image.slice(0, 30)}…` }) }
  const submit = (event: Event): void => {
    event.preventDefault()
    if (!work.busy && prompt.trim() !== '') void makeMedia(kind, fields)
  }
  return (
    <div class="play">
      <section class="panel">
        <Setup model={model}>
          <ModelChoice models={models} model={model} choose={choose} />
        </Setup>
        <form onSubmit={submit}>
          <div class="field">
            <label for="prompt">{words.prompt}</label>
            <textarea
              id="prompt"
              rows={4}
              maxLength={model.maxPromptLength ?? MAX_PROMPT}
              placeholder={words.example}
              value={prompt}
              onInput={(event) => setPrompt(event.currentTarget.value)}
            />
          </div>
          <Picture kind={kind} image={image} put={setImage} />
          <Options kind={kind} model={model} chosen={chosen} put={setLatest} />
          <div class="row between deed">
            <Ceiling most={most} />
            <Action type="submit" busy={work.busy} busyText={words.generating}>
              {image ? words.fromImage : chosen.n ? words.images : words.generate(kind)}
            </Action>
          </div>
        </form>
        <AsCode example={{ kind, fields: shown }} />
      </section>
      <Result kind={kind} work={work} />
    </div>
  )
}

/** What was chosen; empty: the model's default, or one picture. */
type Chosen = { resolution: string; duration: string; size: string; quality: string; n: string }

const NOTHING: Chosen = { resolution: '', duration: '', size: '', quality: '', n: '' }

type OptionsProps = { kind: 'image' | 'video'; model: ModelEntry; chosen: Chosen; put: (chosen: Chosen) => void }

/** The durations, resolutions, sizes and qualities that the model offers, and how many pictures. */
function Options({ kind, model, chosen, put }: OptionsProps) {
  const seconds = defaultDuration(model)
  const set = (field: keyof Chosen) => (event: Event) =>
    put({ ...chosen, [field]: (event.currentTarget as HTMLSelectElement).value })
  return (
    <div class="columns">
      {resolutionsOf(kind, model).length > 0 && (
        <Choice
          label={t.models.resolution}
          value={chosen.resolution}
          options={[
            ['', withDefault(model.resolutions?.[0])],
            ...resolutionsOf(kind, model).map((one) => [one, one] as const),
          ]}
          // A size means the same: one of them is asked for.
          onChange={(event) => put({ ...chosen, resolution: event.currentTarget.value, size: '' })}
        />
      )}
      {model.sizes && (
        <Choice
          label={t.models.size}
          value={chosen.size}
          options={[['', words.automatic], ...model.sizes.map((one) => [one, one] as const)]}
          onChange={(event) => put({ ...chosen, size: event.currentTarget.value, resolution: '' })}
        />
      )}
      {model.qualities && (
        <Choice
          label={t.models.quality}
          value={chosen.quality}
          options={[['', words.automatic], ...model.qualities.map((one) => [one, one] as const)]}
          onChange={set('quality')}
        />
      )}
      {kind === 'image' && <Choice label={words.count} value={chosen.n} options={COUNTS} onChange={set('n')} />}
      {kind === 'video' && (
        <Choice
          label={t.models.duration}
          value={chosen.duration}
          options={[
            ['', withDefault(seconds === undefined ? undefined : `${seconds} s`)],
            ...durationChoices(model).map((one) => [String(one), `${one} s`] as const),
          ]}
          onChange={set('duration')}
        />
      )}
    </div>
  )
}

/** How many pictures; one is what a request that names none gets. */
const COUNTS: (readonly [string, string])[] = Array.from({ length: MAX_PICTURES }, (_, at) =>
  at === 0 ? (['', '1'] as const) : ([String(at + 1), String(at + 1)] as const),
)

const withDefault = (value: string | undefined): string =>
  value === undefined ? words.noDefault : words.withDefault(value)

const resolutionsOf = (modality: 'image' | 'video', { resolutions, sizes }: ModelEntry): readonly string[] =>
  offeredResolutions({ modality, ...(resolutions && { resolutions }), ...(sizes && { sizes }) })

/** What of a choice the model offers: another model may have been chosen since. */
function stillOffered(kind: 'image' | 'video', model: ModelEntry, chosen: Chosen): Chosen {
  const { resolution, duration, size, quality, n } = chosen
  return {
    resolution: resolutionsOf(kind, model).includes(resolution) ? resolution : '',
    duration: kind === 'video' && durationChoices(model).includes(Number(duration)) ? duration : '',
    size: model.sizes?.includes(size) ? size : '',
    quality: model.qualities?.includes(quality) ? quality : '',
    n: kind === 'image' ? n : '',
  }
}

/** The picture to edit, or a film's first frame: an address, or a file of this computer. */
function Picture({ kind, image, put }: { kind: 'image' | 'video'; image: string; put: (url: string) => void }) {
  const [problem, setProblem] = useState<string | null>(null)
  const read = (file: File | undefined): void => {
    setProblem(null)
    if (!file) return
    if (file.size > MAX_READER_BYTES) return setProblem(words.tooLarge)
    dataUrl(file).then(put, (error: Error) => setProblem(error.message))
  }
  const name = kind === 'image' ? words.toEdit : words.firstFrame
  return (
    <details open={image !== ''}>
      <summary>{name}</summary>
      <Field
        label={words.imageUrl}
        type="url"
        value={image.startsWith('data:') ? '' : image}
        placeholder="https://…"
        onInput={(event) => put(event.currentTarget.value)}
      />
      <Field
        label={words.upload}
        type="file"
        accept="image/png,image/jpeg,image/webp"
        onChange={(event) => read(event.currentTarget.files?.[0])}
      />
      {image.startsWith('data:') && (
        <p class="row">
          <img src={image} width="64" alt={words.chosen} />
          <button type="button" class="small quiet" onClick={() => put('')}>
            {t.words.fields.remove}
          </button>
        </p>
      )}
      <ErrorMessage problem={problem} />
    </details>
  )
}

function Result({ kind, work }: { kind: 'image' | 'video'; work: Work }) {
  return (
    <section class="panel result" aria-live="polite" aria-busy={work.busy} data-testid="result">
      {work.busy && (
        <div class="progress">
          <p>
            {work.status}
            {work.progress !== null && ` ${work.progress} %`}
          </p>
          <progress aria-label={words.progress} {...(work.progress !== null && { value: work.progress, max: 100 })} />
        </div>
      )}
      <ErrorMessage problem={work.problem} />
      {work.urls.length > 0 ? (
        <AllMedia urls={work.urls} modality={kind} />
      ) : (
        !work.busy &&
        !work.problem && (
          <Empty title={words.appears(kind)}>
            {words.kept((name) => (
              <a href="/gallery">{name}</a>
            ))}
          </Empty>
        )
      )}
      {work.cost && <Receipt cost={work.cost} callId={work.callId} />}
    </section>
  )
}
