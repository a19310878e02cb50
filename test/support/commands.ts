import { CommandError } from '../../src/admin/command.ts'
import type { Command, Options, Report } from '../../src/admin/command.ts'
import type { TestWeb } from '../../scripts/harness/harness.ts'

/** Runs commands of operators, each by the beginning of its usage. `refusal`: the sentence that one refuses with. */
export function commandsOver<Json = Record<string, unknown>>(at: Pick<TestWeb, 'db'>, all: readonly Command[]) {
  const run = async (name: string, args: string[] = [], options: Options = {}): Promise<Report<Json>> =>
    (await all.find(({ usage }) => usage.startsWith(name))!.run(at.db, args, options)) as Report<Json>
  const refusal = (...asked: Parameters<typeof run>): Promise<string> =>
    run(...asked).then(
      () => 'done',
      (error: unknown) => (error instanceof CommandError ? error.message : String(error)),
    )
  return { run, refusal }
}
