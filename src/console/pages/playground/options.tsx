/**
 * How a chat is asked: system prompt, temperature, and the most that it may answer.
 */
import { t } from '../../language/language.ts'
import type { ModelEntry } from '../../api/endpoints.ts'
import type { ChatFields, ChatMessage } from '../../api/call-forms.ts'
import { Field } from '../../parts/forms.tsx'

const words = t.playground

/** As texts, the way they are typed; an empty one is left to the model. */
export type Options = { system: string; temperature: string; maxTokens: string }

export const NO_OPTIONS: Options = { system: '', temperature: '', maxTokens: '' }

/** The fields of a request with the options that were chosen; a system prompt goes before all messages. */
export function withOptions(
  messages: ChatMessage[],
  { system, temperature, maxTokens }: Options,
): Omit<ChatFields, 'model'> {
  return {
    messages: system.trim() === '' ? messages : [{ role: 'system', content: system }, ...messages],
    ...(Number(maxTokens) >= 1 && { max_tokens: Math.floor(Number(maxTokens)) }),
    ...(temperature !== '' && { temperature: Number(temperature) }),
  }
}

type Props = {
  /** Those that are asked: the most that they answer is shown where no limit is typed. */
  models: ModelEntry[]
  options: Options
  put: (options: Options) => void
}

export function OptionFields({ models, options, put }: Props) {
  const set = (name: keyof Options) => (event: Event) =>
    put({ ...options, [name]: (event.currentTarget as HTMLInputElement).value })
  return (
    <>
      <div class="field">
        <label for="system">{words.system}</label>
        <textarea
          id="system"
          rows={3}
          placeholder={words.systemExample}
          value={options.system}
          onInput={set('system')}
        />
      </div>
      <Field
        label={words.temperature}
        type="number"
        min={0}
        max={2}
        step={0.1}
        value={options.temperature}
        placeholder={words.default}
        onInput={set('temperature')}
      />
      <Field
        label={words.mostTokens}
        type="number"
        min={1}
        value={options.maxTokens}
        placeholder={[...new Set(models.map((model) => model.defaultOutputTokens))].join(' / ')}
        onInput={set('maxTokens')}
      />
    </>
  )
}
