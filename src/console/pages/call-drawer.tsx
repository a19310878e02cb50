/**
 * One call, next to its list.
 */
import { useEffect } from 'preact/hooks'
import type { CallRecord, ModelEntry } from '../api/endpoints.ts'
import { getCall, getModels } from '../api/endpoints.ts'
import { CallAnswer } from '../parts/call-answer.tsx'
import { CallDialog } from '../parts/call-dialog.tsx'
import { Curl, ErrorNote, AllMedia, Facts, Trail } from '../parts/call-details.tsx'
import { priceText } from '../parts/format.ts'
import { onCall, onRefresh } from '../state/account.ts'
import { useLoad } from '../state/load.ts'
import { isOneself, useMembers } from '../state/members.ts'

/** The price that a call was charged by, in words. @param models undefined while they are on their way */
function priceOf({ model, priceVersion }: CallRecord, models: ModelEntry[] | undefined): string {
  if (!models) return '…'
  const now = models.find(({ id }) => id === model)
  return now && now.priceVersion === priceVersion ? priceText(now) : 'has changed since'
}

export function CallDrawer({ id, keyNames, close }: { id: string; keyNames: Map<string, string>; close: () => void }) {
  const details = useLoad(`call ${id}`, () => getCall(id))
  const models = useLoad('models', getModels)
  const members = useMembers()
  /** Only its holder can fetch what a call answered. */
  const isMine = (call: CallRecord): boolean => members !== undefined && isOneself(call, members)
  useEffect(() => {
    const offCall = onCall((call) => {
      if (call.id === id) details.reload()
    })
    const offRefresh = onRefresh(details.reload)
    return () => {
      offCall()
      offRefresh()
    }
  }, [id, details.reload])
  return (
    <CallDialog id={id} of={details} missing="There is no such call in your account." close={close}>
      {(data) => (
        <>
          <ErrorNote call={data.call} />
          <Trail details={data} />
          {data.call.dialect && data.call.status === 'succeeded' && isMine(data.call) && (
            <CallAnswer key={data.call.id} id={data.call.id} dialect={data.call.dialect} />
          )}
          <AllMedia urls={data.call.resultUrls} modality={data.call.modality} />
          <Facts
            call={data.call}
            keyName={keyNames.get(data.call.keyId)}
            price={priceOf(data.call, models.data?.data)}
          />
          <Curl call={data.call} isMine={isMine(data.call)} />
        </>
      )}
    </CallDialog>
  )
}
