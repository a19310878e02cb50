/** Every command of the operator's command line, in the order of its help. */
import type { Command } from './command.ts'
import { accountCommands } from './commands/accounts.ts'
import { catalogueCommands } from './commands/catalogue.ts'
import { doctorCommands } from './commands/doctor.ts'
import { accountClosureCommands } from './commands/account-closure.ts'
import { signInCommands } from './commands/sign-in.ts'
import { bannerCommands } from './commands/banner.ts'
import { codeCommands } from './commands/codes.ts'
import { paymentCommands } from './commands/payments.ts'
import { mailCommands } from './commands/mail.ts'
import { importCommands } from './commands/import.ts'
import { keyCommands } from './commands/keys.ts'
import { webhookCommands } from './commands/webhooks.ts'
import { moneyCommands } from './commands/money.ts'
import { reportCommands } from './commands/reports.ts'

/** Every command. */
export const COMMANDS: Command<object>[] = [
  ...accountCommands,
  ...accountClosureCommands,
  ...signInCommands,
  ...moneyCommands,
  ...reportCommands,
  ...keyCommands,
  ...catalogueCommands,
  ...paymentCommands,
  ...codeCommands,
  ...mailCommands,
  ...webhookCommands,
  ...bannerCommands,
  ...importCommands,
  ...doctorCommands,
]
