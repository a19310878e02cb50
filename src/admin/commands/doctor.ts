/** doctor */
import type { Command } from '../command.ts'

/** Checking everything that a process needs. */
export const doctorCommands: Command[] = [
  {
    usage: 'doctor',
    summary:
      'Check Postgres, Redis, storage, mail, payments, the catalogue and the key of each upstream, without sending ' +
      'or paying for anything. Exits with 1 if anything fails.',
    run: async (db) => (await import('../doctor.ts')).doctor(db),
  },
]
