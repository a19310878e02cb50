/** From what an upstream sends to a chat's answer, whole and streamed: the same for every protocol. */
import type { AnswerEncoder, AnswerEvent } from '../../shared/chat/events.ts'
import type { AnswerForm, Completer } from '../../shared/chat/answer-form.ts'
import type { ChatResult, TakeEvent, UpstreamContext, UpstreamUsage } from './adapter.ts'
import { AnswerTooLong, UpstreamError } from './adapter.ts'
import { failureIn } from './failures.ts'
import type { Fields } from '../../shared/platform/fields.ts'
import { readAnswer } from './reader.ts'
import type { AnswerBody, Said } from './reader.ts'
import { largerUsage } from './usage.ts'

/** How an answer came to its end: whether its protocol's end had come, and whether something could not be read. */
export type Ending = { isDone: boolean; isBroken: boolean }

/** What reads one answer of an upstream protocol. */
type Reading = {
  /** Whether everything has its reason to finish: however the connection ends then is an end. */
  readonly isFinished: boolean
  /** Whether the answer has ended before its upstream ended it: nothing more is read. */
  readonly isCut?: boolean
  /** What an object reports of its usage; null where it does not. */
  usageIn(event: Fields): UpstreamUsage | null
}

/** Turns what one protocol sends into the canonical events of one answer. */
export type Decoder = Reading & {
  /**
   * The events that an object means.
   * @param isWhole whether it is the whole answer
   * @throws UpstreamError for what makes no sense
   */
  events(event: Fields, isWhole: boolean): AnswerEvent[]
  /** The remaining events at the end. @throws UpstreamError for an answer that was cut off, or is empty */
  end(ending: Ending): AnswerEvent[]
}

/**
 * Turns an answer into frames of its client's dialect. An object that is such a frame already is returned itself, and
 * not changed. Throws what a decoder throws.
 */
export type Translation = Reading & { frames(event: Fields, isWhole: boolean): Fields[]; end(ending: Ending): Fields[] }

/** An answer for a client of another dialect than its upstream's. */
export const encoded = (decoder: Decoder, encoder: AnswerEncoder): Translation => {
  const framesOf = (events: AnswerEvent[]): Fields[] => events.flatMap((event) => encoder.framesOf(event))
  return {
    get isFinished() {
      return decoder.isFinished
    },
    get isCut() {
      return decoder.isCut === true
    },
    usageIn: (event) => decoder.usageIn(event),
    frames: (event, isWhole) => framesOf(decoder.events(event, isWhole)),
    end: (ending) => framesOf(decoder.end(ending)),
  }
}

/** A complete event of a protocol, and what it means. */
type Meant = { frame: Fields; events: AnswerEvent[] }

/** A decoder of a protocol whose events are completed before they are read. */
export abstract class CompletingDecoder implements Decoder {
  private readonly completer: Completer

  constructor(completer: Completer) {
    this.completer = completer
  }

  abstract readonly isFinished: boolean
  abstract usageIn(event: Fields): UpstreamUsage | null

  events(event: Fields, isWhole: boolean): AnswerEvent[] {
    return this.read(event, isWhole).flatMap(({ events }) => events)
  }

  end(ending: Ending): AnswerEvent[] {
    return this.readEnd(ending).flatMap(({ events }) => events)
  }

  /** The complete events that an object means. @throws UpstreamError for what makes no sense */
  read(event: Fields, isWhole: boolean): Meant[] {
    this.requireSense(event, isWhole)
    return this.completer.take(event, isWhole).map((frame) => ({ frame, events: this.eventsOf(frame) }))
  }

  /** Those at the end. @throws UpstreamError for an answer that was cut off, or is empty */
  readEnd({ isDone, isBroken }: Ending): Meant[] {
    const last = isDone && !isBroken ? this.completer.end() : []
    const meant = last.map((frame) => ({ frame, events: this.eventsOf(frame) }))
    this.requireWhole()
    return meant
  }

  /** @throws UpstreamError for a whole answer that is none */
  protected abstract requireSense(event: Fields, isWhole: boolean): void
  /** @throws UpstreamError for an answer that was cut off, or is empty */
  protected abstract requireWhole(): void
  /** The events that a complete event means. */
  protected abstract eventsOf(event: Fields): AnswerEvent[]
}

/** An answer for a client of its upstream's dialect. It is decoded as well: one that means nothing is a failure. */
export abstract class PassThrough implements Translation {
  private readonly decoder: CompletingDecoder

  constructor(decoder: CompletingDecoder) {
    this.decoder = decoder
  }

  get isFinished(): boolean {
    return this.decoder.isFinished
  }

  usageIn(event: Fields): UpstreamUsage | null {
    return this.decoder.usageIn(event)
  }

  frames(event: Fields, isWhole: boolean): Fields[] {
    return this.decoder.read(event, isWhole).flatMap(({ frame }) => this.passedOn(frame))
  }

  end(ending: Ending): Fields[] {
    return this.decoder.readEnd(ending).flatMap(({ frame }) => this.passedOn(frame))
  }

  /** The frames of a complete event. */
  protected abstract passedOn(event: Fields): Fields[]
}

/**
 * Takes what is in an answer, each event as it comes. After a failure it is read on, because the usage comes last and
 * was billed.
 * @throws UpstreamError for an error in any form, for an answer that was cut off, and for an empty one; what
 * `take` throws
 */
export async function readChat(
  body: AnswerBody,
  translation: Translation,
  { onSkipped }: Pick<UpstreamContext, 'onSkipped'>,
  take: TakeEvent,
): Promise<void> {
  let failure: UpstreamError | null = null
  let isReported = false
  const ending: Ending = { isDone: false, isBroken: false }
  // Of one that was cut here nothing is waited for: its request is ended.
  const isOver = (): boolean =>
    translation.isCut !== true && (failure !== null || ending.isDone || translation.isFinished)
  const framesOf = ({ fields, isWhole, event }: Said & { is: 'object' }): Fields[] => {
    failure ??= failureIn(fields, event)
    try {
      return failure ? [] : translation.frames(fields, isWhole)
    } catch (error) {
      if (!(error instanceof UpstreamError) || error instanceof AnswerTooLong) throw error
      failure = error
      return []
    }
  }
  const takeSaid = (said: Said): boolean => {
    if (said.is === 'done') ending.isDone = true
    else if (said.is === 'broken') {
      ending.isBroken = true
      onSkipped?.()
    } else {
      const usage = translation.usageIn(said.fields)
      isReported ||= usage !== null
      for (const frame of framesOf(said))
        take({ type: 'frame', frame, text: frame === said.fields ? said.line : undefined })
      // Frames first: the report covers the words in the same object.
      if (usage) take({ type: 'usage', usage })
    }
    return translation.isCut !== true && (!isReported || (failure === null && !ending.isDone))
  }
  await readAnswer(body, takeSaid, isOver)
  if (failure) throw failure
  for (const frame of translation.end(ending)) take({ type: 'frame', frame })
}

/**
 * What is in an answer, put together; of one that is too long what was taken of it.
 * @param read reads its events
 * @throws UpstreamError as the reading does, with the usage that was reported before
 */
export async function collected(
  read: (take: TakeEvent) => Promise<void>,
  form: AnswerForm,
  maxBytes: number,
): Promise<ChatResult> {
  const assembly = form.assemble(maxBytes)
  let usage: UpstreamUsage | null = null
  try {
    await read((event) => {
      if (event.type === 'usage') usage = largerUsage(usage, event.usage)
      else assembly.add(event.frame)
      if (assembly.isFull) throw new AnswerTooLong('the answer is as long as it may become')
    })
    return { answer: assembly.answer('stop'), usage }
  } catch (error) {
    if (error instanceof AnswerTooLong && !assembly.isEmpty) {
      return { answer: assembly.answer('length'), usage: null, isCut: true }
    }
    if (error instanceof UpstreamError) error.usage = usage
    throw error
  }
}
