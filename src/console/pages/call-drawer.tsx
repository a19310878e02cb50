/**
 * One call, beside the list it came from.
 */
import { useEffect } from 'preact/hooks'
import { getCall } from '../api/endpoints.ts'
import { Copy, ErrorMessage, Loading } from '../parts/basics.tsx'
import { Dialog } from '../parts/dialogs.tsx'
import { Curl, ErrorNote, Facts, Media, Trail } from '../parts/call-details.tsx'
import { onCall, onRefresh } from '../state/account.ts'
import { useLoad } from '../state/load.ts'

export function CallDrawer({ id, keyNames, close }: { id: string; keyNames: Map<string, string>; close: () => void }) {
  const story = useLoad(`call ${id}`, () => getCall(id))
  useEffect(() => {
    const offCall = onCall((call) => {
      if (call.id === id) story.reload()
    })
    const offRefresh = onRefresh(story.reload)
    return () => {
      offCall()
      offRefresh()
    }
  }, [id, story.reload])
  const { data, problem } = story
  return (
    <Dialog title="Call" close={close} drawer>
      <p class="id">
        <code>{id}</code>
        <Copy text={id} />
      </p>
      {problem?.code === 'not_found' ? (
        <ErrorMessage problem="There is no such call in your account." />
      ) : (
        <ErrorMessage problem={problem} retry={story.reload} />
      )}
      {!data ? (
        !problem && <Loading rows={10} />
      ) : (
        <>
          <ErrorNote call={data.call} />
          <Trail story={data} />
          {data.call.resultUrl && <Media url={data.call.resultUrl} modality={data.call.modality} />}
          <Facts call={data.call} keyName={keyNames.get(data.call.keyId)} />
          <Curl call={data.call} />
        </>
      )}
    </Dialog>
  )
}
