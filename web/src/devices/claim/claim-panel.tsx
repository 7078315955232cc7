import { Textarea } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { type Schemas, answerOf, useServer } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { counted } from '../../display/texts/counted.ts'
import { ProblemNote } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { SearchSelect } from '../../display/forms/search-select.tsx'
import { type Site, siteChoices } from '../../orgs/sites.ts'
import { type ClaimRefusal, claimRefusalsIn, isUnknownCode } from './claim-refusals.ts'
import { codesIn, textAfterClaim } from './claim-search.ts'

interface ClaimPanelProps {
  readonly orgId: string
  readonly sites: ReadonlyMap<string, Site>
  /** Called with the MAC addresses of the claimed hardware. */
  readonly onClaimed: (macs: readonly string[]) => void
}

/** Claims devices by their codes, and assigns them to a site. */
export function ClaimPanel({ orgId, sites, onClaimed }: ClaimPanelProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const [text, setText] = useState('')
  const [siteId, setSiteId] = useState(() => sites.keys().next().value ?? '')
  const codes = codesIn(text)
  const path = { org_id: orgId }
  const claim = useMutation({
    async mutationFn(sent: readonly string[]): Promise<Schemas['ClaimResult']> {
      const result = await answerOf(api.POST('/api/v1/orgs/{org_id}/inventory', { params: { path }, body: [...sent] }))
      const macs = [...(result.inventory_added ?? []), ...(result.inventory_duplicated ?? [])].map(({ mac }) => mac)
      if (siteId !== '' && macs.length > 0)
        await answerOf(
          api.PUT('/api/v1/orgs/{org_id}/inventory', {
            params: { path },
            body: { op: 'assign', site_id: siteId, macs },
          }),
        )
      onClaimed(macs)
      return result
    },
    onSuccess: (result, sent) => {
      // The refused codes stay, to be corrected.
      setText((current) => textAfterClaim(current, sent, result.error))
      return queries.invalidateQueries({ queryKey: ['inventory item', orgId] })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    claim.mutate(codes)
  }
  return (
    <Panel title="Claim">
      <form className="request-form" onSubmit={submit}>
        <Textarea
          label="Claim codes"
          description="As they are printed on the devices; dashes and case don't matter."
          autosize
          minRows={3}
          maxRows={12}
          required
          value={text}
          onChange={({ currentTarget: { value } }) => setText(value)}
        />
        <SearchSelect
          label="Site"
          value={siteId}
          choices={[...siteChoices(sites), { value: '', label: 'None yet' }]}
          onChange={setSiteId}
        />
        <ClaimProblem problem={claim.error} />
        {claim.data !== undefined && <ClaimReport result={claim.data} />}
        <Button type="submit" size="xs" isBusy={claim.isPending} isOff={codes.length === 0}>
          {codes.length === 0 ? 'Claim devices' : `Claim ${counted(codes.length, 'device')}`}
        </Button>
      </form>
    </Panel>
  )
}

function ClaimReport({ result }: { readonly result: Schemas['ClaimResult'] }) {
  return (
    <div role="status">
      {result.added.length > 0 && <p>Claimed {counted(result.added.length, 'device')}.</p>}
      {result.duplicated.length > 0 && (
        <p>{counted(result.duplicated.length, 'device')} belonged to the organization already.</p>
      )}
      <Refusals refusals={claimRefusalsIn(result)} />
    </div>
  )
}

/** A refusal of all codes, or of the request. */
function ClaimProblem({ problem }: { readonly problem: Error | null }) {
  const refusals = problem instanceof Problem ? claimRefusalsIn(problem.body) : []
  if (refusals.length === 0) return <ProblemNote problem={problem} />
  return (
    <div role="alert">
      <p className="problem">No device could be claimed.</p>
      <Refusals refusals={refusals} />
    </div>
  )
}

function Refusals({ refusals }: { readonly refusals: readonly ClaimRefusal[] }) {
  return (
    <>
      {refusals.map(({ code, reason }) => (
        <p key={code} className="problem">
          {code}: {reason}
        </p>
      ))}
      {refusals.some(isUnknownCode) && (
        <p>
          The server knows the codes of devices that its operator has imported (
          <code>npm run -s cli -- import-manifest</code>), and makes one for any other device that connects:{' '}
          <code>npm run -s cli -- unclaimed</code> lists these.
        </p>
      )}
    </>
  )
}
