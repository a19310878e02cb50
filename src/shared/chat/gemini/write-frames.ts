/** From the canonical events of an answer to the objects of Gemini's API. */
import { objectOf as objectIn } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import { readCut } from '../cut-json.ts'
import type { AnswerEvent, BlockStart, EndReason } from '../events.ts'
import type { BlockEvent } from '../ordered-encoder.ts'
import { OrderedEncoder } from '../ordered-encoder.ts'
import type { Seal } from '../seal.ts'
import { objectOf } from './join-frames.ts'

const FINISH: Readonly<Record<EndReason, string>> = {
  done: 'STOP',
  stop_sequence: 'STOP',
  tools: 'STOP',
  paused: 'STOP',
  length: 'MAX_TOKENS',
  context: 'MAX_TOKENS',
  refusal: 'SAFETY',
}

/**
 * The objects of one answer. A call of a function is in one piece. What proves a thought is sealed for its route, in
 * the `thoughtSignature` of the next part that is none: clients send that back, and many drop the thoughts.
 */
export class GeminiEncoder extends OrderedEncoder {
  private begun: BlockStart = { kind: 'text' }
  private words = ''
  private signature: string | undefined
  private proofs: Fields[] = []
  private callsTools = false
  private hasRefused = false
  private readonly head: Fields
  private readonly seal: Seal['seal']

  /** @param callId the public id of its call */
  constructor(callId: string, seal: Seal['seal']) {
    super()
    this.head = { modelVersion: '', responseId: callId }
    this.seal = seal
  }

  protected start(): Fields[] {
    return []
  }

  protected framesOfBlock(event: BlockEvent): Fields[] {
    switch (event.is) {
      case 'block':
        this.begun = event
        this.words = event.kind === 'text' && event.isFurther ? '\n\n' : ''
        this.signature = undefined
        this.callsTools ||= event.kind === 'tool_call'
        this.hasRefused ||= event.kind === 'refusal'
        return []
      case 'delta':
        return this.said(event.text)
      case 'signature':
        this.signature = event.signature
        return []
      case 'stop':
        return this.stop(event.isCut === true)
    }
  }

  private said(text: string): Fields[] {
    switch (this.begun.kind) {
      case 'tool_call':
        this.words += text
        return []
      case 'reasoning':
        this.words += text
        return [this.frame({ text, thought: true })]
      case 'text':
      case 'refusal': {
        const words = this.words + text
        this.words = ''
        return [this.frame({ text: words, ...this.proof() })]
      }
    }
  }

  private stop(isCut: boolean): Fields[] {
    const { begun, words, signature } = this
    if (begun.kind === 'tool_call') {
      const args = (isCut ? readCut(words) : objectIn(words)) ?? {}
      return [this.frame({ functionCall: { id: begun.id, name: begun.name, args }, ...this.proof() })]
    }
    if (begun.kind !== 'reasoning') return []
    const { sealed, format, id } = begun
    if ((signature ?? sealed) !== undefined) this.proofs.push({ text: words, signature, sealed, format, id })
    return []
  }

  /** An answer that calls functions, or refuses, ends for that, no matter what its upstream reports. */
  protected end({ reason }: AnswerEvent & { is: 'end' }): Fields {
    const isRefusal = (reason === 'done' || reason === 'tools') && this.hasRefused && !this.callsTools
    return objectOf([{ text: '', ...this.proof() }], FINISH[isRefusal ? 'refusal' : reason], this.head)
  }

  /** What proves the thoughts before a part. */
  private proof(): Fields {
    if (this.proofs.length === 0) return {}
    const thoughtSignature = this.seal({ proofs: this.proofs })
    this.proofs = []
    return { thoughtSignature }
  }

  private frame(part: Fields): Fields {
    return objectOf([part], null, this.head)
  }
}
