/**
 * What is to be done after each file of tests that a process runs (`test/support/after-file.ts`): the next file shares
 * the modules of the process, and must find nothing of this one. Mocha may load the module of a hook a second time, so
 * the tasks are those of the process.
 */
type Task = () => void | Promise<void>

const tasks = ((globalThis as { tollgateAfterFile?: Set<Task> }).tollgateAfterFile ??= new Set())

/** Registers a task for the end of the current file of tests, once. */
export function afterFile(task: Task): void {
  tasks.add(task)
}

/** Runs the tasks of the file that has ended. */
export async function endFile(): Promise<void> {
  const ended = [...tasks]
  tasks.clear()
  for (const task of ended) await task()
}
