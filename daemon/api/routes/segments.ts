import { created, deleted, listing, noContent, ok, paging, type Route } from './route.ts'

/** Beyond the contract. */
export const segmentExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/segments',
    role: 'viewer',
    name: 'listSegments',
    summary: 'List segments',
    query: paging,
    answers: { 200: { page: 'Segment' } },
    call: async ({ client, query }) => listing(await client.segments.list(query)),
  },
  {
    method: 'POST',
    path: '/segments',
    role: 'member',
    name: 'createSegment',
    summary: 'Create a segment',
    description: '`GET /contacts?segment=ID` returns the contacts that match its filters now.',
    body: 'SegmentInput',
    answers: { 201: { record: 'Segment', description: 'The segment was created.' } },
    call: async ({ client, body }) => created(await client.segments.create(body)),
  },
  {
    method: 'GET',
    path: '/segments/:segmentId',
    role: 'viewer',
    name: 'getSegment',
    summary: 'One segment',
    answers: { 200: { record: 'Segment', description: 'The segment.' } },
    call: async ({ client, params }) => ok(await client.segments.get(params.segmentId)),
  },
  {
    method: 'PATCH',
    path: '/segments/:segmentId',
    role: 'member',
    name: 'updateSegment',
    summary: 'Change a segment',
    description: 'Absent fields stay unchanged. `filters` replaces all filters.',
    body: 'SegmentChange',
    answers: { 200: { record: 'Segment', description: 'The segment after the change.' } },
    call: async ({ client, params, body }) => ok(await client.segments.update(params.segmentId, body)),
  },
  {
    method: 'DELETE',
    path: '/segments/:segmentId',
    role: 'member',
    name: 'deleteSegment',
    summary: 'Delete a segment',
    description: 'The contacts stay.',
    answers: { 204: deleted },
    call: async ({ client, params }) => {
      await client.segments.delete(params.segmentId)
      return noContent
    },
  },
]
