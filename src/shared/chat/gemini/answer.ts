/** Answers of Gemini's API: their frames are whole objects, each with the parts that are new. */
import { isText } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import { writtenOver } from '../../platform/json-edits.ts'
import { tokensOfWords } from '../../requests/token-count.ts'
import type { Tokens } from '../../terms/pricing.ts'
import { allInput } from '../../terms/pricing.ts'
import type { AnswerForm, Completion } from '../answer-form.ts'
import type { CutOff } from '../assembly.ts'
import { saysAnything } from '../deltas.ts'
import { CUT, GeminiAssembly, candidateOf, objectOf, partsOfCandidate, wordsInParts } from './join-frames.ts'

/** How answers of Gemini's API are read, joined, counted and stored. */
export const geminiForm: AnswerForm = {
  assemble: (maxBytes) => new GeminiAssembly(maxBytes),
  completion: () => new CandidateCompletion(),
  begins: (frame) => isText(candidateOf(frame).finishReason) || saysAnything(partsOfCandidate(candidateOf(frame))),
  reasons: (frame) => partsOfCandidate(candidateOf(frame)).some(({ thought }) => thought === true),
  written: (frame, model, line) => {
    const { usageMetadata, modelVersion, ...rest } = frame
    if (line !== undefined && usageMetadata === undefined && modelVersion === model) return line
    const next = { ...rest, modelVersion: model }
    return line === undefined ? JSON.stringify(next) : writtenOver(line, frame, next)
  },
  count: (answer) => tokensOfWords(wordsInParts(partsOfCandidate(candidateOf(answer)))),
  output: (answer, model, tokens) => {
    const { usageMetadata: _usage, modelVersion: _model, ...rest } = answer
    return JSON.stringify({ ...rest, modelVersion: model, usageMetadata: usageOf(tokens) })
  },
}

/** The usage of an answer in Google's terms: what was thought is not among the tokens of the candidates. */
function usageOf(tokens: Tokens) {
  const { cached, output, reasoning } = tokens
  const input = allInput(tokens)
  return {
    promptTokenCount: input,
    ...(cached !== undefined && { cachedContentTokenCount: cached }),
    candidatesTokenCount: output - (reasoning ?? 0),
    ...(reasoning !== undefined && { thoughtsTokenCount: reasoning }),
    totalTokenCount: input + output,
  }
}

/** Whether the candidate has its reason to finish. */
class CandidateCompletion implements Completion {
  private head: Fields | null = null
  private hasEnded = false

  take(frame: Fields): void {
    const { candidates: _candidates, usageMetadata: _usage, ...head } = frame
    this.head = head
    this.hasEnded ||= isText(candidateOf(frame).finishReason)
  }

  get isWhole(): boolean {
    return this.hasEnded || this.head === null
  }

  lastFrames(cutOff: CutOff): Fields[] {
    if (this.hasEnded) return []
    this.hasEnded = true
    return [objectOf([], CUT[cutOff], this.head ?? {})]
  }
}
