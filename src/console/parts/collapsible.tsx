/**
 * What a wide screen shows next to the content, and a phone only on request.
 */
import type { ComponentChildren } from 'preact'
import { t } from '../language/language.ts'

/** The style sheets' bound of a wide screen. */
const WIDE = matchMedia('(min-width: 52.01rem)')

type Props = { name: string; open?: boolean; children: ComponentChildren }

/** @param open on a phone too, because something is chosen in it */
export const Collapsible = ({ name, open = false, children }: Props) => (
  <details class="fold" open={open || WIDE.matches}>
    <summary>{name}</summary>
    {children}
  </details>
)

/** Takes all filters off a list. @param href where it is */
export const ClearFilters = ({ href }: { href: string }) => (
  <a class="clear" href={href}>
    {t.calls.list.clear}
  </a>
)
