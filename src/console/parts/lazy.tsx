/**
 * Pages whose code is fetched when they are first opened: the first page loads faster without them.
 */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { t } from '../language/language.ts'
import { ErrorMessage, Loading } from './basics.tsx'
import type { PageProps } from './route.ts'

/** A page of `load`. Until it is there, a placeholder is shown; if it cannot be fetched, a button to reload. */
export function lazyPage(load: () => Promise<ComponentType<PageProps>>): ComponentType<PageProps> {
  let page: ComponentType<PageProps> | undefined
  return function LazyPage(props) {
    const [state, setState] = useState<'loading' | 'ready' | 'failed'>(page ? 'ready' : 'loading')
    useEffect(() => {
      if (page) return
      load().then(
        (loaded) => {
          page = loaded
          setState('ready')
        },
        () => setState('failed'),
      )
    }, [])
    if (page) {
      const Page = page
      return <Page {...props} />
    }
    // A release may have replaced the file: only the document knows the new name.
    return state === 'failed' ? (
      <ErrorMessage problem={t.frame.pageUnreachable} retry={() => location.reload()} />
    ) : (
      <Loading rows={8} />
    )
  }
}
