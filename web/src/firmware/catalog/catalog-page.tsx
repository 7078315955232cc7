import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { answerOf, pageOf, useServer } from '../../api/client.ts'
import { counted } from '../../display/texts/counted.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { MoreButton } from '../../display/layout/more-button.tsx'
import { EmptyState, ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { sizeText } from '../../display/texts/size.ts'
import { ViewerTime } from '../../display/times/time.tsx'
import { type Image, usesOf } from '../image.ts'
import { UploadPanel } from './upload-panel.tsx'
import { Row, RowName } from '../../display/layout/row.tsx'

const route = getRouteApi('/signed-in/orgs/$orgId/firmware')

const SHOWN = 50

/** The images from which devices and edge appliances are upgraded. */
export function CatalogPage() {
  const { orgId } = route.useParams()
  const mayWrite = useMay('write', { orgId })
  const images = useImages(orgId)
  const pages = images.data?.pages ?? []
  const rows = pages.flatMap((page) => page.rows)
  return (
    <>
      <PageTitle title="Firmware" call={`/orgs/${orgId}/firmware`}>
        <span>{pages[0] === undefined ? ' ' : counted(pages[0].total, 'image')}</span>
      </PageTitle>
      {mayWrite && <UploadPanel orgId={orgId} />}
      {images.data === undefined && images.error === null && <Skeleton rows={6} />}
      {images.data === undefined && <ProblemNote problem={images.error} />}
      {pages[0]?.total === 0 && (
        <EmptyState title="No images yet">
          Upload one, or bring a folder of them: <code>npm run -s cli -- firmware import</code>. Upgrades offer the
          versions of the images that are here.
        </EmptyState>
      )}
      {rows.length > 0 && (
        <ol className="panel log">
          {rows.map((image) => (
            <ImageLine key={image.id} image={image} mayWrite={mayWrite} />
          ))}
        </ol>
      )}
      <MoreButton query={images} />
    </>
  )
}

function useImages(orgId: string) {
  const { api } = useServer()
  return useInfiniteQuery({
    queryKey: ['firmware', orgId],
    queryFn: ({ pageParam: page }) =>
      pageOf(
        api.GET('/api/v1/orgs/{org_id}/firmware', {
          params: { path: { org_id: orgId }, query: { page, limit: SHOWN } },
        }),
      ),
    initialPageParam: 1,
    getNextPageParam: ({ total }, pages) => (pages.length * SHOWN < total ? pages.length + 1 : undefined),
  })
}

function ImageLine({ image, mayWrite }: { readonly image: Image; readonly mayWrite: boolean }) {
  const { id, size, sha256, signature, created_time: at } = image
  const uses = usesOf(image)
  return (
    <Row className="image-line">
      <div>
        <p className="image-uses">
          <RowName>{uses.join(', ') || 'Not used by any version'}</RowName>
        </p>
        <p>
          {sizeText(size)} · {signature === undefined ? 'not signed' : 'signed'} · <ViewerTime at={at} />
        </p>
        <p className="mono">{sha256}</p>
      </div>
      {mayWrite && <DeleteButton orgId={image.org_id} id={id} uses={uses} />}
    </Row>
  )
}

interface DeleteButtonProps {
  readonly orgId: string
  readonly id: string
  readonly uses: readonly string[]
}

function DeleteButton({ orgId, id, uses }: DeleteButtonProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  return (
    <ConfirmButton
      action="Delete"
      isDestructive
      effect={{
        does: 'Deletes',
        counts: [
          { count: 1, one: 'image' },
          { count: uses.length, one: 'version' },
        ],
        consequences: [
          uses.length === 0
            ? null
            : `No device can be upgraded to ${uses.join(', ')} until the image is uploaded again.`,
        ],
      }}
      run={async () => {
        const params = { path: { org_id: orgId, image_id: id } }
        await answerOf(api.DELETE('/api/v1/orgs/{org_id}/firmware/{image_id}', { params }))
        await queries.invalidateQueries({ queryKey: ['firmware', orgId] })
      }}
    />
  )
}
