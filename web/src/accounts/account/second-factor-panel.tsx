import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { answerOf, useServer } from '../../api/client.ts'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { type RequestField, RequestForm } from '../../display/forms/request-form.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import type { Self } from '../self.ts'
import { proofField, withoutEmpty } from './proof.ts'

const codeField: RequestField = {
  name: 'two_factor',
  label: 'Code',
  description: 'Six digits of your authenticator app',
  autoComplete: 'one-time-code',
  required: true,
}

/** Required for every change that weakens the account. */
const passwordField: RequestField = {
  ...{ name: 'password', label: 'Your password', type: 'password', autoComplete: 'current-password' },
  required: true,
}

/** Enables and disables the second factor, and shows recovery codes once. */
export function SecondFactorPanel({ self }: { readonly self: Self }) {
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const [isEnrolling, setEnrolling] = useState(false)
  const isOn = self.enable_two_factor === true
  if (self.via_sso === true) return null
  return (
    <Panel
      title="Second factor"
      aside={<StateMark tone={isOn ? 'good' : 'idle'}>{isOn ? 'Enabled' : 'Disabled'}</StateMark>}
    >
      {isOn && codes !== null && <RecoveryCodes codes={codes} />}
      {isOn && <Enabled onCodes={setCodes} />}
      {!isOn && isEnrolling && <Enrolment onCodes={setCodes} />}
      {!isOn && !isEnrolling && (
        <p className="panel-buttons">
          <Button variant="default" size="xs" onClick={() => setEnrolling(true)}>
            Set up
          </Button>
        </p>
      )}
    </Panel>
  )
}

interface CodesProps {
  readonly onCodes: (codes: readonly string[]) => void
}

function Enrolment({ onCodes }: CodesProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const query = useQuery({
    queryKey: ['second factor secret'],
    async queryFn() {
      const answer = await answerOf(api.GET('/api/v1/self/two_factor/token'))
      // The answer is a text, although the request was for the picture.
      return typeof answer === 'string' ? answer : answer.two_factor_secret
    },
    // Another secret would replace the one that the app has read.
    staleTime: Infinity,
    gcTime: 0,
  })
  return (
    <QueryView query={query}>
      {(secret) => (
        <div className="enrolment">
          <img src="/api/v1/self/two_factor/token?by=qrcode" width="180" height="180" alt="QR code of the secret" />
          <div>
            <p>
              Read the code with your authenticator app, or type the secret: <code>{secret}</code>
            </p>
            <RequestForm
              fields={[codeField, proofField]}
              action="Enable"
              run={async (values) => {
                const body = { two_factor: '', ...withoutEmpty(values) }
                const { recovery_codes: codes } = await answerOf(api.POST('/api/v1/self/two_factor/verify', { body }))
                onCodes(codes)
                await queries.invalidateQueries({ queryKey: ['self'] })
              }}
            />
          </div>
        </div>
      )}
    </QueryView>
  )
}

function Enabled({ onCodes }: CodesProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  return (
    <>
      <RequestForm
        fields={[{ ...codeField, description: 'Of your authenticator app, or a recovery code' }, passwordField]}
        action="Disable"
        run={async (body) => {
          await answerOf(api.POST('/api/v1/self/two_factor/disable', { body }))
          await queries.invalidateQueries({ queryKey: ['self'] })
        }}
      />
      <RequestForm
        fields={[codeField, passwordField]}
        action="Replace the recovery codes"
        run={async (body) => {
          onCodes((await answerOf(api.POST('/api/v1/self/two_factor/recovery_codes', { body }))).recovery_codes)
        }}
      />
    </>
  )
}

function RecoveryCodes({ codes }: { readonly codes: readonly string[] }) {
  return (
    <div className="plan-line" role="status">
      <p>Keep these recovery codes where your phone is not. Each works once, and they are not shown again.</p>
      <pre className="once">{codes.join('\n')}</pre>
    </div>
  )
}
