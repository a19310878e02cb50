/**
 * The name and the mark of the installation: the operator's own, where they have any.
 */
import { site } from '../state/site.ts'
import { Mark } from './basics.tsx'

export function Brand({ href, size }: { href: string; size: number }) {
  const { name, logo } = site.value
  return (
    <a class="brand" href={href}>
      {logo === null ? <Mark size={size} /> : <img src={logo} alt="" height={size} />}
      <span>{name}</span>
    </a>
  )
}
