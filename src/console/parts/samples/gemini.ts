/**
 * A chat as code, by Google's Gemini API: with curl, Google's SDK, or Gemini CLI.
 */
import type { ChatFields } from '../../api/call-forms.ts'
import { PATHS } from '../../api/call-forms.ts'
import type { Writers } from './write.ts'
import { curl, javaScript, lines, python, quoted } from './write.ts'

/** A chat in the form of Gemini's API. */
function contentsOf({ messages, max_tokens: limit, temperature }: ChatFields) {
  const system = messages.flatMap(({ role, content }) => (role === 'system' ? [content] : []))
  const contents = messages.flatMap(({ role, content }) =>
    role === 'system' ? [] : [{ role: role === 'assistant' ? 'model' : 'user', parts: [{ text: content }] }],
  )
  const config = {
    ...(limit !== undefined && { maxOutputTokens: limit }),
    ...(temperature !== undefined && { temperature }),
  }
  return { contents, config, instruction: system.join('\n\n') }
}

/** The body of a request. */
function bodyOf(fields: ChatFields) {
  const { contents, config, instruction } = contentsOf(fields)
  return {
    contents,
    ...(instruction !== '' && { systemInstruction: { parts: [{ text: instruction }] } }),
    ...(Object.keys(config).length > 0 && { generationConfig: config }),
  }
}

/** The arguments of Google's SDK. @param names how it writes names */
function argumentsOf(fields: ChatFields, names: { instruction: string; limit: string }) {
  const { contents, config, instruction } = contentsOf(fields)
  const { maxOutputTokens: limit, ...others } = config
  const all = {
    ...others,
    ...(limit !== undefined && { [names.limit]: limit }),
    ...(instruction !== '' && { [names.instruction]: instruction }),
  }
  return { model: fields.model, contents, ...(Object.keys(all).length > 0 && { config: all }) }
}

const KEY = '"x-goog-api-key: $TOLLGATE_KEY"'

export const gemini: Writers<ChatFields> = [
  ['curl', (origin, fields) => curl(`${origin}${PATHS.gemini}/${fields.model}:generateContent`, [KEY], bodyOf(fields))],
  [
    'Python',
    (origin, fields) =>
      lines(
        'import os',
        'from google import genai',
        '',
        `client = genai.Client(api_key=os.environ["TOLLGATE_KEY"], http_options={"base_url": "${origin}"})`,
        `answer = client.models.generate_content(**${python(
          argumentsOf(fields, { instruction: 'system_instruction', limit: 'max_output_tokens' }),
        )})`,
        'print(answer.text)',
      ),
  ],
  [
    'JavaScript',
    (origin, fields) =>
      lines(
        `import { GoogleGenAI } from '@google/genai'`,
        '',
        `const client = new GoogleGenAI({ apiKey: process.env.TOLLGATE_KEY, httpOptions: { baseUrl: '${origin}' } })`,
        `const answer = await client.models.generateContent(${javaScript(
          argumentsOf(fields, { instruction: 'systemInstruction', limit: 'maxOutputTokens' }),
        )})`,
        'console.log(answer.text)',
      ),
  ],
  [
    'Gemini CLI',
    (origin, { model }) =>
      lines(
        `export GOOGLE_GEMINI_BASE_URL=${origin}`,
        'export GEMINI_API_KEY="$TOLLGATE_KEY"',
        `gemini --model ${quoted(model)}`,
      ),
  ],
]
