/**
 * Ids in paths.
 */
import { z } from 'zod'
import { messageOf } from '../../shared/platform/errors.ts'
import type { Id, IdKind } from '../../shared/platform/ids.ts'
import { parseId } from '../../shared/platform/ids.ts'

/** The parameters of a path with one `:id`. Anything but an id of this kind is answered 404 with the message. */
export const pathId = <K extends IdKind>(kind: K, description: string, message = messageOf('not_found')) =>
  parsedId((text): Id<K> | null => parseId(kind, text), description, message)

/** The same for an id that is written in another form. @param parse null if a text is none */
export const parsedId = <T>(parse: (text: string) => T | null, description: string, message: string) =>
  z.object({
    id: z
      .string()
      .transform((text, context): T => {
        const id = parse(text)
        if (id !== null) return id
        context.addIssue({ code: 'custom', message })
        return z.NEVER
      })
      .meta({ description }),
  })
