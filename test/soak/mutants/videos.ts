import type { Mutant } from './mutant.ts'
import { DELETED_VIDEOS, MEDIA_FIELDS, SCHEDULES, UPLOADED_PICTURES, VIDEOS, VIDEO_ROWS } from './killing-tests.ts'

const RUN_MEDIA = 'src/workers/calls/run-media.ts'

/** Bugs in videos that are looked at and deleted. */
export const OF_VIDEOS: readonly Mutant[] = [
  {
    name: 'a video that is deleted while it is made keeps its result',
    why: 'What was deleted cannot be fetched, by whichever path.',
    edits: [{ file: 'sql/end_calls.sql', find: 'WHERE d.deleted_at IS NULL', replace: 'WHERE true' }],
    tests: [SCHEDULES],
  },
  {
    name: 'a deletion does not see the result of a call that ends meanwhile',
    why: 'A statement has the snapshot of its beginning: it may have waited for the row, and the result is new.',
    edits: [
      {
        file: 'src/shared/calls/videos.ts',
        find: 'UPDATE calls SET deleted_at = now()',
        replace: "WITH gone AS (DELETE FROM call_results WHERE call_id = '${id}') UPDATE calls SET deleted_at = now()",
      },
      {
        file: 'src/shared/calls/videos.ts',
        find: "await trx('call_results').where({ call_id: id }).delete()",
        replace: '',
      },
    ],
    tests: [VIDEO_ROWS],
  },
  {
    name: 'a deleted video is refunded though its upstream has it',
    why: 'No upstream says of a task that it has accepted that it will not be billed.',
    edits: [
      {
        file: RUN_MEDIA,
        find: 'if (run.call.isDeleted) return await endDeleted(deps, model, run, route, task)',
        replace: "if (run.call.isDeleted) return upstreamFailure('The video was deleted.')",
      },
    ],
    tests: [DELETED_VIDEOS],
  },
  {
    name: 'a deleted video is refunded while it is being sent',
    why: 'Once an upstream may have the request, it may bill it.',
    edits: [{ file: RUN_MEDIA, find: 'if (!run.maybeSent && !call.resumed) held', replace: 'held' }],
    tests: [DELETED_VIDEOS],
  },
  {
    name: 'a deleted video is sent all the same',
    why: 'A process may die between the deletion and the refund: its worker finds the deletion in the row.',
    edits: [{ file: RUN_MEDIA, find: 'if (call.isDeleted && !call.resumed)', replace: 'if (false)' }],
    tests: [DELETED_VIDEOS],
  },
  {
    name: 'a deleted video goes on at its upstream',
    why: 'What nobody wants is not to be made, as far as the upstream can be told.',
    edits: [
      {
        file: RUN_MEDIA,
        find: "await cancelTask(deps, model, run)\n    failpoint('task.cancelled'",
        replace: "failpoint('task.cancelled'",
      },
    ],
    tests: [DELETED_VIDEOS],
  },
  {
    name: 'the file of a deleted video stays',
    why: 'Whoever deletes a video deletes what it shows.',
    edits: [
      {
        file: 'src/workers/reconciler.ts',
        find: 'removeMedia(deps, await deletedWithMedia(deps.db, BATCH))',
        replace: 'undefined',
      },
    ],
    tests: [DELETED_VIDEOS],
  },
  {
    name: 'a retry joins a video that was deleted',
    why: 'It would pay for what it cannot look at.',
    edits: [
      {
        file: 'sql/retried_calls.sql',
        find: 'c.finished_at IS NULL AND c.deleted_at IS NULL',
        replace: 'c.finished_at IS NULL',
      },
    ],
    tests: [DELETED_VIDEOS],
  },
  {
    name: 'a video is shown to other accounts that know its id',
    why: 'A call is seen by its account alone.',
    edits: [
      {
        file: 'src/shared/calls/videos.ts',
        find: "{ 'c.account_id': accountId, 'c.user_id': userId, 'c.modality': 'video' }",
        replace: "{ 'c.modality': 'video' }",
      },
    ],
    tests: [VIDEOS],
  },
  {
    name: 'the progress of a video is what its upstream told last',
    why: 'A progress that falls looks like a fault.',
    edits: [
      {
        file: 'src/shared/calls/calls.ts',
        find: "'greatest(progress, ?::smallint)'",
        replace: "'coalesce(?::smallint, progress)'",
      },
    ],
    tests: [VIDEO_ROWS],
  },
  {
    name: 'a size is made in whatever form has its height',
    why: 'What is charged is what was asked for: a square one is refused, not made wide.',
    edits: [{ file: 'src/shared/requests/sizes.ts', find: '=> isWide && ', replace: '=> ' }],
    tests: [MEDIA_FIELDS],
  },
  {
    name: 'an uploaded picture is left out for upstreams that fetch by themselves',
    why: 'Nobody else can fetch a file of a form.',
    edits: [
      {
        file: 'src/workers/calls/references.ts',
        find: "case 'address':\n      return uploads",
        replace: "case 'address':\n      return []",
      },
    ],
    tests: [UPLOADED_PICTURES],
  },
]
