/**
 * the modules of the process, and must find nothing of this one.
 */
const tasks = new Set<() => void | Promise<void>>()

/** Registers a task for the end of the current file of tests, once. */
export function afterFile(task: () => void | Promise<void>): void {
  tasks.add(task)
}

/** Runs the tasks of the file that has ended. */
export async function endFile(): Promise<void> {
  const ended = [...tasks]
  tasks.clear()
  for (const task of ended) await task()
}
