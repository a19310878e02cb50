import type { Task } from './task.ts'

/** All tasks of this process, oldest first. They stay as long as it lives: a client may ask late. */
export class TaskStore {
  private readonly tasks = new Map<string, Task>()

  /** Stores a task. */
  add(task: Task): void {
    this.tasks.set(task.id, task)
  }

  /** The task of this protocol with this id. */
  find(protocol: string, id: string): Task | undefined {
    const task = this.tasks.get(id)
    return task?.protocol === protocol ? task : undefined
  }

  /** The tasks of a protocol, newest first. */
  list(protocol: string): Task[] {
    return [...this.tasks.values()].filter((task) => task.protocol === protocol).toReversed()
  }

  /** Forgets a task. */
  remove(task: Task): void {
    this.tasks.delete(task.id)
  }
}
