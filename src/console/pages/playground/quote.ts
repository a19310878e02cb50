/**
 * What a request would be charged, as quoted by the gateway: asked for a moment after the last change of a field.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ChatFields, MediaFields } from '../../api/call-forms.ts'
import { quote } from '../../api/gateway.ts'
import { playgroundKey } from '../../state/playground-key.ts'

/** Typing pauses this long before the price is asked for, in ms. */
const PAUSE_MS = 350

/** Credits; `otherwise` until the gateway has answered, and where it would refuse the request. null asks nothing. */
export function useQuote(
  kind: 'chat' | 'image' | 'video',
  fields: ChatFields | MediaFields | null,
  otherwise: number,
): number {
  const [answer, setAnswer] = useState<{ asked: string; credits: number } | null>(null)
  const idle = useRef(false)
  const key = playgroundKey.value
  const asked = JSON.stringify([kind, key, fields])
  useEffect(() => {
    // What is asked for after a while of nothing is no typing.
    const pause = idle.current ? 0 : PAUSE_MS
    idle.current = fields === null
    if (key === '' || fields === null) return undefined
    const over = new AbortController()
    const timer = setTimeout(() => {
      quote(kind, key, fields, over.signal).then(
        (credits) => setAnswer({ asked, credits }),
        () => setAnswer(null),
      )
    }, pause)
    return () => {
      clearTimeout(timer)
      over.abort()
    }
  }, [asked])
  return answer?.asked === asked ? answer.credits : otherwise
}
