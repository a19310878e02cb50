/**
 * One call, next to its list.
 */
import { useEffect } from 'preact/hooks'
import { t } from '../language/language.ts'
import type { CallRecord } from '../api/endpoints.ts'
import { getCall } from '../api/endpoints.ts'
import { CallAnswer } from '../parts/call-answer.tsx'
import { CallDialog } from '../parts/call-dialog.tsx'
import { Curl, ErrorNote, AllMedia, Facts, Trail } from '../parts/call-details.tsx'
import { Receipt } from '../parts/receipt.tsx'
import { onCall, onRefresh } from '../state/account.ts'
import { useLoad } from '../state/load.ts'
import { isOneself, useMembers } from '../state/members.ts'

export function CallDrawer({ id, keyNames, close }: { id: string; keyNames: Map<string, string>; close: () => void }) {
  const details = useLoad(`call ${id}`, () => getCall(id))
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
    <CallDialog id={id} of={details} missing={t.calls.noSuch} close={close}>
      {(data) => (
        <>
          <ErrorNote call={data.call} />
          <Trail details={data} />
          {data.call.dialect && data.call.status === 'succeeded' && isMine(data.call) && (
            <CallAnswer key={data.call.id} id={data.call.id} dialect={data.call.dialect} />
          )}
          <AllMedia urls={data.call.resultUrls} modality={data.call.modality} />
          <Receipt details={data} />
          <Facts call={data.call} keyName={keyNames.get(data.call.keyId)} />
          <Curl call={data.call} isMine={isMine(data.call)} />
        </>
      )}
    </CallDialog>
  )
}
