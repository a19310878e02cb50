/**
 * Who is signed in and for which account they act, the way to the others, and the way out.
 */
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ChevronDown } from 'lucide-preact'
import { t } from '../language/language.ts'
import type { ActedFor } from '../api/organisations.ts'
import { getAccounts } from '../api/organisations.ts'
import { account } from '../state/account.ts'
import { switchTo } from '../state/acting-for.ts'
import { useLoad } from '../state/load.ts'
import { signOutHere } from '../state/sign-out.ts'
import { Action, Email, ErrorMessage } from './basics.tsx'
import { useSubmit } from './forms.tsx'
import { LanguageChoice } from './language-choice.tsx'
import { List } from './list.tsx'
import { NewOrganisation } from './new-organisation.tsx'

/** Shuts a menu with Escape, and with a press outside. */
function useShutting(menu: RefObject<HTMLDetailsElement>): void {
  useEffect(() => {
    const shut = (event: Event): void => {
      if (event.type === 'keydown' && (event as KeyboardEvent).key !== 'Escape') return
      if (event.type === 'pointerdown' && menu.current?.contains(event.target as Node)) return
      menu.current?.removeAttribute('open')
    }
    addEventListener('pointerdown', shut)
    addEventListener('keydown', shut)
    return () => {
      removeEventListener('pointerdown', shut)
      removeEventListener('keydown', shut)
    }
  }, [])
}

/** Opens below the name of the user who is signed in. */
export function AccountMenu() {
  const [open, setOpen] = useState(false)
  const [founding, setFounding] = useState(false)
  const menu = useRef<HTMLDetailsElement>(null)
  useShutting(menu)
  const email = account.value?.user.email ?? ''
  const organisation = account.value?.organisation
  const shown = organisation?.name ?? email
  return (
    <>
      <details class="account" ref={menu} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class="hidden">
            {t.frame.accountOf(email)}
            {organisation && `, ${organisation.name}`}
          </span>
          {organisation && (
            <span class="acting" aria-hidden="true">
              {organisation.name}
            </span>
          )}
          <span class="initial" aria-hidden="true">
            {shown.slice(0, 1).toUpperCase() || '…'}
          </span>
          <ChevronDown size={15} aria-hidden="true" />
        </summary>
        <div class="sheet">
          <p>
            <small class="soft">{t.frame.signedInAs}</small>
            <br />
            <Email address={email} />
          </p>
          {open && <Accounts />}
          <button
            type="button"
            class="small quiet"
            onClick={() => {
              menu.current?.removeAttribute('open')
              setFounding(true)
            }}
          >
            {t.frame.newOrganisation}
          </button>
          {open && <LanguageChoice />}
          <a href="/settings">{t.frame.page.settings}</a>
          <button type="button" class="small quiet" onClick={signOutHere}>
            {t.frame.signOut}
          </button>
        </div>
      </details>
      {founding && <NewOrganisation close={() => setFounding(false)} />}
    </>
  )
}

/** Those that one can act for; a press acts for another one. */
function Accounts() {
  const accounts = useLoad('accounts', getAccounts)
  const { busy, problem, run } = useSubmit()
  return (
    <div class="accounts" role="region" aria-label={t.frame.accounts}>
      <List of={accounts} rows={2} empty={null}>
        {(items) =>
          items.map((one) => (
            <Action
              key={one.id}
              class="small quiet"
              busy={busy}
              aria-current={one.current ? 'true' : undefined}
              onClick={() => {
                if (!one.current) run(() => switchTo(one.id))
              }}
            >
              <span>{nameOf(one)}</span> <small>{one.kind === 'organisation' && t.frame.roles[one.role]}</small>
            </Action>
          ))
        }
      </List>
      <ErrorMessage problem={problem} />
    </div>
  )
}

const nameOf = ({ kind, name }: ActedFor): string => (kind === 'personal' ? t.frame.personalAccount : name)
