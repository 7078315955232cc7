import { Outlet } from '@tanstack/react-router'
import { useEffect, useSyncExternalStore } from 'react'
import { useSelf } from '../accounts/self.ts'
import { useServer } from '../api/client.ts'
import { LeaveGuard } from '../display/forms/leave-guard.tsx'
import { EndedDialog } from './ended-dialog.tsx'

/** The pages of a person. When the session has ended they stay as they are, under a dialog in which the person signs in again. */
export function SignedIn() {
  const { session } = useServer()
  const self = useSelf()
  const person = self?.admin_id
  const isEnded = useSyncExternalStore(session.subscribe, session.isEnded)
  useEffect(() => {
    if (person !== undefined) session.begin(person)
  }, [session, person])
  useEffect(() => session.leave, [session])
  return (
    <>
      <LeaveGuard>
        <Outlet />
      </LeaveGuard>
      <EndedDialog isOpen={isEnded} self={self} />
    </>
  )
}
