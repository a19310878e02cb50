/**
 * Ids in paths.
 */
import { z } from 'zod'
import { messageOf } from '../../shared/platform/errors.ts'
import type { Id, IdKind } from '../../shared/platform/ids.ts'
import { parseId } from '../../shared/platform/ids.ts'

/** The parameters of a path with one `:id`. Anything but an id of this kind is answered 404 with the message. */
export const pathId = <K extends IdKind>(kind: K, description: string, message = messageOf('not_found')) =>
  z.object({
    id: z
      .string()
      .transform((text, context): Id<K> => {
        const id = parseId(kind, text)
        if (id) return id
        context.addIssue({ code: 'custom', message })
        return z.NEVER
      })
      .meta({ description }),
  })
