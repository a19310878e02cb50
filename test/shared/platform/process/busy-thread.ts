/** A thread that does as it is asked: answers, never ends, takes all memory, or throws. */
import { parentPort } from 'node:worker_threads'

parentPort!.on('message', (task: string) => {
  const hoard: unknown[] = []
  if (task === 'throw') throw new Error('thrown')
  while (task === 'loop') hoard.length = 0
  while (task === 'fill') hoard.push({ at: hoard.length, text: `${hoard.length}` })
  parentPort!.postMessage(`did ${task}`)
})
// It is loaded.
parentPort!.postMessage(null)
