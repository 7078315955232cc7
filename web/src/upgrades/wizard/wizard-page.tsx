import type { ReactNode } from 'react'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { Button } from '../../display/forms/button.tsx'
import { useMay } from '../../accounts/self.ts'
import { fieldPathIn } from '../../api/problem.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { useFocusOnRefusal } from '../../display/forms/focus.ts'
import { EmptyState, ProblemNote } from '../../display/layout/notices.tsx'
import { failureOf } from '../../display/layout/load-failure.ts'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { sharedZone, useSites } from '../../orgs/sites.ts'
import { kinds } from '../overview.ts'
import { ChoosePanel } from './choose-panel.tsx'
import { MissingSite } from '../../orgs/missing-site.tsx'
import { type Draft, isSingle, settle, withInstants } from './draft.ts'
import { PlanChangesNote, PlanPanel } from './plan-panel.tsx'
import { startEffect } from './plan-text.ts'
import { type UpgradeRequest, pathOf, requestOf } from './request.ts'
import { type DraftChange, StrategyPanel } from './strategy-panel.tsx'
import { useMembers } from './use-members.ts'
import { usePlan } from './use-plan.ts'
import { localText } from '../../display/times/local-text.ts'
import { TextZone, useTextZone } from '../../display/times/text-zone.ts'
import { siteIdsOf } from './plan.ts'

const orgRoute = getRouteApi('/signed-in/orgs/$orgId/upgrades/new')
const siteRoute = getRouteApi('/signed-in/orgs/$orgId/sites/$siteId/upgrades/new')

/** Fields of the request without one on the page. */
const hidden: ReadonlySet<string> = new Set(['reboot'])

/** True for fields of the request that the page shows; messages about others appear above the buttons. */
function hasField({ siteId, body }: UpgradeRequest, field: string): boolean {
  if (field === 'site_ids') return siteId === undefined
  return field === 'version' || field === 'channel' || (Object.hasOwn(body, field) && !hidden.has(field))
}

/** The wizard of the organization. */
export function WizardPage() {
  const { orgId } = orgRoute.useParams()
  const navigate = useNavigate({ from: '/orgs/$orgId/upgrades/new' })
  return (
    <Wizard
      orgId={orgId}
      draft={orgRoute.useSearch()}
      above={
        <Link to="/orgs/$orgId/upgrades" params={{ orgId }}>
          Upgrades
        </Link>
      }
      onChange={(changed) =>
        void navigate({ search: (current) => withoutAbsent({ ...current, ...changed }), replace: true })
      }
    />
  )
}

/** The wizard of a site, also for those whose role reaches only this site. */
export function SiteWizardPage() {
  const { orgId, siteId } = siteRoute.useParams()
  const search = siteRoute.useSearch()
  const navigate = useNavigate({ from: '/orgs/$orgId/sites/$siteId/upgrades/new' })
  return (
    <QueryView query={useSites(orgId)} rows={12}>
      {(sites) => {
        const site = sites.get(siteId)
        if (site === undefined) return <MissingSite orgId={orgId} />
        return (
          <TextZone value={site.timezone}>
            <Wizard
              orgId={orgId}
              draft={{ ...withInstants(search, site.timezone), siteId }}
              above={
                <Link to="/orgs/$orgId/sites/$siteId" params={{ orgId, siteId }}>
                  {site.label}
                </Link>
              }
              onChange={(changed) =>
                void navigate({ search: (current) => withoutAbsent({ ...current, ...changed }), replace: true })
              }
            />
          </TextZone>
        )
      }}
    </QueryView>
  )
}

interface WizardProps {
  readonly orgId: string
  /** With the site, if the upgrade is one of a site. */
  readonly draft: Draft
  /** The link to where the page belongs. */
  readonly above: ReactNode
  readonly onChange: (change: DraftChange) => void
}

/** Describes an upgrade, shows its plan, and starts that plan. */
function Wizard({ orgId, draft, above, onChange }: WizardProps) {
  const { siteId } = draft
  const mayUpgrade = useMay('write', siteId === undefined ? { orgId } : { orgId, siteId })
  const sites = useSites(orgId).data
  const zone = useTextZone()
  const { kind } = settle(draft)
  const members = useMembers({ orgId, siteId }, kind)
  const loadedMembers = { choices: members.data, failure: failureOf([members]) }
  const request = requestOf(
    draft,
    members.data?.map(({ value }) => value),
  )
  const { plan, problem, refusal, changes, isPlanning, previewPlan, startPlan } = usePlan({
    ...{ orgId, request },
    members: members.data ?? [],
  })
  // The fields are on one clock, whatever sites they choose.
  const planZone = zone ?? (plan === undefined ? undefined : sharedZone(sites, siteIdsOf(plan)))
  // The path of the request names one.
  const hasNone = isSingle(draft) && members.data?.length === 0
  const fields = useFocusOnRefusal<HTMLDivElement>(refusal)
  // Fields of the page stand for those of each gate.
  const exact = problem === null ? null : fieldPathIn(problem.message)
  const path = exact?.replaceAll(/\.\d+/g, '') ?? null
  const field = path?.split('.', 1)[0] ?? null
  const errorOf = (...fields: readonly string[]): string | null =>
    problem !== null && fields.some((one) => [field, path, exact].includes(one))
      ? localText(problem.message, zone)
      : null
  const title = (
    <PageTitle
      title="New upgrade"
      call={{ path: pathOf(request, orgId), body: { ...request.body, dry_run: true } }}
      above={above}
    />
  )
  if (!mayUpgrade)
    return (
      <>
        {title}
        <EmptyState title="Your role does not start upgrades">An admin of the organization can.</EmptyState>
      </>
    )
  return (
    <>
      {title}
      <div ref={fields}>
        <ChoosePanel {...{ orgId, draft, errorOf, members: loadedMembers }} onChange={onChange} />
        {!hasNone && <StrategyPanel draft={draft} errorOf={errorOf} onChange={onChange} />}
      </div>
      <TextZone value={planZone}>
        {changes !== null && plan !== undefined && <PlanChangesNote orgId={orgId} changes={changes} sites={sites} />}
        {plan !== undefined && <PlanPanel orgId={orgId} draft={draft} plan={plan} sites={sites} />}
      </TextZone>
      {(field === null || !hasField(request, field)) && <ProblemNote problem={problem} />}
      <div className="wizard-buttons">
        {!hasNone && (
          <Button
            {...(plan !== undefined && { variant: 'default' })}
            size="xs"
            isBusy={isPlanning || members.isPending}
            onClick={() => {
              if (isComplete(fields.current)) previewPlan()
            }}
          >
            {plan === undefined ? 'Preview the plan' : 'Preview again'}
          </Button>
        )}
        {members.isLoading && (
          <p className="hint" role="status">
            The {kinds[kind].unit}s are being read
          </p>
        )}
        {plan !== undefined && plan.total > 0 && (
          <ConfirmButton
            action="Start the upgrade"
            isPrimary
            effect={startEffect(draft, plan, planZone)}
            mayOpen={() => isComplete(fields.current)}
            run={() => startPlan(plan.id)}
          />
        )}
      </div>
    </>
  )
}

/** A time of which a part is missing has no value, as an empty field. The browser leads to it and says so. */
function isComplete(fields: HTMLElement | null): boolean {
  return fields?.querySelector<HTMLInputElement>('input:invalid')?.reportValidity() ?? true
}

function withoutAbsent(change: DraftChange): Draft {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
}
