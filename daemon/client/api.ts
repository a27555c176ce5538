/** Types of the API's requests and answers. Written by `npm run reference` from the description. */
import type { Method } from './methods.ts'

/** The methods of a client, by resource. */
export interface Resources {
    readonly tags: {
        /** List tags. Needs a token of any role. */
        readonly list: Method<"GET /tags">;
        /** Create a tag. Needs a token with the role `member` or `admin`. */
        readonly create: Method<"POST /tags">;
        /** Rename a tag. Needs a token with the role `member` or `admin`. */
        readonly update: Method<"PATCH /tags/{tagId}">;
        /** Delete a tag. Also removes the tag from its contacts. Refused with `conflict` while the recipients of a newsletter with the tag in its audience are chosen. Needs a token with the role `member` or `admin`. */
        readonly delete: Method<"DELETE /tags/{tagId}">;
    };
    readonly contacts: {
        /** List contacts. A contact must match every filter. For a filter with several values, one match is enough. Needs a token of any role. */
        readonly list: Method<"GET /contacts">;
        /** One contact, with tags, lists and topics. Needs a token of any role. */
        readonly get: Method<"GET /contacts/{contactId}">;
        /** Count contacts. Counts the contacts of the listing with the same filters. Needs a token of any role. */
        readonly count: Method<"GET /contacts/count">;
        /** Create or match a contact, without a list. Tags are added, and attributes are merged by key. An unsubscribed contact stays unsubscribed. Needs a token with the role `member` or `admin`. */
        readonly upsert: Method<"POST /contacts">;
        /** Create or match a contact, and add it to a list. Tags are added, and attributes are merged by key. An unsubscribed contact stays unsubscribed. A list with double opt-in asks the contact to confirm, at most once in 10 minutes, and the answer has `pending_lists`. Needs a token with the role `member` or `admin`. */
        readonly addToList: Method<"POST /lists/{listId}/contacts">;
        /** Remove a contact from a list. Also removes the contact from the list’s topics. The contact itself stays. It is no error if it was not on the list. Needs a token with the role `member` or `admin`. */
        readonly removeFromList: Method<"DELETE /lists/{listId}/contacts/{contactId}">;
        /** Update a contact. Absent fields stay unchanged. `tags` replaces all tags, and attributes are merged by key. Needs a token with the role `member` or `admin`. */
        readonly update: Method<"PUT /contacts/{contactId}">;
        /** Change the e-mail address of a contact. Everything else stays, but requests to confirm a list end. An address that another contact has is refused. Needs a token with the role `member` or `admin`. */
        readonly changeEmail: Method<"POST /contacts/{contactId}/email">;
        /** Add tags to a contact. Tags that do not exist are created. It is no error if the contact has a tag already. Needs a token with the role `member` or `admin`. */
        readonly tag: Method<"POST /contacts/{contactId}/tags">;
        /** Remove tags from a contact. The tags themselves stay. It is no error if the contact does not have a tag. Needs a token with the role `member` or `admin`. */
        readonly untag: Method<"DELETE /contacts/{contactId}/tags">;
        /** Merge a contact into another one of the same person. The contact is deleted. The other one, `into`, gets its tags, lists, topics and events, and the values that it does not have itself. If one of the two has unsubscribed, the merged contact is unsubscribed. Needs a token with the role `member` or `admin`. */
        readonly merge: Method<"POST /contacts/{contactId}/merge">;
        /** Run up to 1,000 operations on contacts. The operations run in order. One that is refused changes nothing and does not stop the others. Repeating a batch is safe. `delete` needs a token with the role `admin`. With an `Idempotency-Key` the whole batch is one transaction. Needs a token with the role `member` or `admin`. */
        readonly batch: Method<"POST /contacts/batch">;
        /** Unsubscribe a contact. The contact receives no further mails. Repeating the request keeps the first time and raises no event. Needs a token with the role `member` or `admin`. */
        readonly unsubscribe: Method<"POST /contacts/{contactId}/unsubscribe">;
        /** Subscribe a contact again. Needs a token with the role `member` or `admin`. */
        readonly resubscribe: Method<"POST /contacts/{contactId}/resubscribe">;
        /** Subscribe a contact to a topic. The contact must be on the topic’s list. Needs a token with the role `member` or `admin`. */
        readonly subscribeToTopic: Method<"PUT /contacts/{contactId}/topics/{topicId}">;
        /** Unsubscribe a contact from a topic. Needs a token with the role `member` or `admin`. */
        readonly unsubscribeFromTopic: Method<"DELETE /contacts/{contactId}/topics/{topicId}">;
        /** Erase a contact and every stored copy of its data. Needs a token with the role `member` or `admin`. */
        readonly delete: Method<"DELETE /contacts/{contactId}">;
        /** What changed the lists, topics and subscription of a contact, newest first. Entries are written in the transaction of the change, never changed, and erased with the contact. A request that changes nothing writes none. Needs a token of any role. */
        readonly history: Method<"GET /contacts/{contactId}/history">;
        /** Links to a contact’s pages, and the mail headers for unsubscribing. The links are for the contact only: they need no token. They never expire, and stop working when the contact is erased. Add the headers to each mail (RFC 8058). `List-Unsubscribe-Post` is present if the public URL is `https`. Refused with 422 if the public URL is not configured. Needs a token with the role `member` or `admin`. */
        readonly links: Method<"POST /contacts/{contactId}/links">;
        /** Everything stored about a contact, as one JSON document. For requests of access (GDPR, article 15). The payloads of deliveries show `confirm_url` as null. An error during the export cuts the document off. Needs a token of any role. */
        readonly data: Method<"GET /contacts/{contactId}/data">;
        /** List the messages to a contact. Newest first. Needs a token of any role. */
        readonly messages: Method<"GET /contacts/{contactId}/messages">;
    };
    readonly lists: {
        /** List lists. Needs a token of any role. */
        readonly list: Method<"GET /lists">;
        /** Create a list. Needs a token with the role `member` or `admin`. */
        readonly create: Method<"POST /lists">;
        /** One list. Needs a token of any role. */
        readonly get: Method<"GET /lists/{listId}">;
        /** Change a list. Absent fields stay unchanged. Members and requests to join stay as they are. Needs a token with the role `member` or `admin`. */
        readonly update: Method<"PATCH /lists/{listId}">;
        /** Delete a list. Also deletes its memberships and topics. The contacts stay. Refused with `conflict` while the recipients of a newsletter that excludes the list are chosen. Needs a token with the role `member` or `admin`. */
        readonly delete: Method<"DELETE /lists/{listId}">;
    };
    readonly topics: {
        /** List the topics of a list. Needs a token of any role. */
        readonly list: Method<"GET /lists/{listId}/topics">;
        /** Create a topic. Needs a token with the role `member` or `admin`. */
        readonly create: Method<"POST /lists/{listId}/topics">;
        /** Change the name or description of a topic. Absent fields stay unchanged. Needs a token with the role `member` or `admin`. */
        readonly update: Method<"PATCH /topics/{topicId}">;
        /** Delete a topic. Also removes the subscriptions to it. Needs a token with the role `member` or `admin`. */
        readonly delete: Method<"DELETE /topics/{topicId}">;
    };
    readonly segments: {
        /** List segments. Needs a token of any role. */
        readonly list: Method<"GET /segments">;
        /** Create a segment. `GET /contacts?segment=ID` returns the contacts that match its filters now. Needs a token with the role `member` or `admin`. */
        readonly create: Method<"POST /segments">;
        /** One segment. Needs a token of any role. */
        readonly get: Method<"GET /segments/{segmentId}">;
        /** Change a segment. Absent fields stay unchanged. `filters` replaces all filters. Needs a token with the role `member` or `admin`. */
        readonly update: Method<"PATCH /segments/{segmentId}">;
        /** Delete a segment. The contacts stay. Needs a token with the role `member` or `admin`. */
        readonly delete: Method<"DELETE /segments/{segmentId}">;
    };
    readonly settings: {
        /** The attributes by which contacts can be filtered. Needs a token with the role `admin`. */
        readonly getAttributes: Method<"GET /settings/attributes">;
        /** Declare the attributes by which contacts can be filtered. Replaces the declared attributes. Stored contacts are indexed in the background. Until that is done, filtering by a new attribute is answered with 503. Refused with `conflict` while the recipients of a newsletter are chosen whose segment filters by an attribute that is removed. Needs a token with the role `admin`. */
        readonly updateAttributes: Method<"PUT /settings/attributes">;
        /** How the pages for contacts look. Needs a token with the role `admin`. */
        readonly getPages: Method<"GET /settings/pages">;
        /** Change how the pages for contacts look. Replaces the settings: absent fields are reset. The pages are those to unsubscribe, to choose lists and topics, and to confirm. Needs a token with the role `admin`. */
        readonly updatePages: Method<"PUT /settings/pages">;
    };
    readonly webhooks: {
        /** List webhook endpoints. Secrets are never included. Needs a token with the role `admin`. */
        readonly list: Method<"GET /webhook-endpoints">;
        /** Register a webhook endpoint. Only this answer contains the signing secret. Needs a token with the role `admin`. */
        readonly create: Method<"POST /webhook-endpoints">;
        /** One endpoint. Needs a token with the role `admin`. */
        readonly get: Method<"GET /webhook-endpoints/{endpointId}">;
        /** Switch an endpoint on or off, or change its description. Switching off puts pending deliveries on hold. Switching on resets the count of failures; it sends nothing. The URL and events cannot be changed: delete the endpoint and create another. Needs a token with the role `admin`. */
        readonly update: Method<"PATCH /webhook-endpoints/{endpointId}">;
        /** Delete an endpoint with its deliveries. A delivery in flight is aborted. Needs a token with the role `admin`. */
        readonly delete: Method<"DELETE /webhook-endpoints/{endpointId}">;
        /** Send a sample delivery. The number per minute is limited for each client. Answers 422 for an endpoint that is switched off. Needs a token with the role `admin`. */
        readonly test: Method<"POST /webhook-endpoints/{endpointId}/test">;
        /** Replace the signing secret of an endpoint. Only this answer contains the new secret. All later attempts are signed with it. With `overlap_hours`, `webhook-signature` also has a signature of the previous secret for that time. Needs a token with the role `admin`. */
        readonly rotateSecret: Method<"POST /webhook-endpoints/{endpointId}/secret">;
        /** Queue all failed and held deliveries since a time again. Runs as a background job. Answers 422 for an endpoint that is switched off. Needs a token with the role `admin`. */
        readonly recover: Method<"POST /webhook-endpoints/{endpointId}/recover">;
        /** Progress of a recovery. Needs a token with the role `admin`. */
        readonly getRecovery: Method<"GET /webhook-endpoints/{endpointId}/recoveries/{recoveryId}">;
    };
    readonly deliveries: {
        /** List the deliveries to all endpoints, newest first. Needs a token with the role `admin`. */
        readonly list: Method<"GET /deliveries">;
        /** List the deliveries of an endpoint, newest first. Needs a token with the role `admin`. */
        readonly listOfEndpoint: Method<"GET /webhook-endpoints/{endpointId}/deliveries">;
        /** One delivery, with its payload and the log of its attempts. Needs a token with the role `admin`. */
        readonly get: Method<"GET /webhook-endpoints/{endpointId}/deliveries/{deliveryId}">;
        /** Send a delivery again. Makes one attempt now. If it fails, the retry schedule starts again. A pending delivery becomes due now. If an attempt is running, the next one follows it, unless the running one succeeds, gets a 410 or is refused. Answers 422 for an endpoint that is switched off or an erased payload. Needs a token with the role `admin`. */
        readonly redeliver: Method<"POST /webhook-endpoints/{endpointId}/deliveries/{deliveryId}/redeliver">;
    };
    readonly events: {
        /** Raise an event about mail that the host app sends by itself. If `data.contact.id` is a contact of the client, the event is erased with it. Needs a token with the role `admin`. */
        readonly raise: Method<"POST /events">;
        /** Raise up to 1,000 events about mail that the host app sends by itself. An event that is refused does not stop the others. If `data.contact.id` of an event is a contact of the client, the event is erased with it. With an `Idempotency-Key` the whole batch is one transaction, and a repeat raises nothing again. Needs a token with the role `admin`. */
        readonly raiseMany: Method<"POST /events/batch">;
    };
    readonly newsletters: {
        /** List newsletters. Newest first, without their content. Needs a token of any role. */
        readonly list: Method<"GET /newsletters">;
        /** Create a newsletter. It is a draft. Its html, and its text if it has one, must contain `unsubscribe_url`. Its templates are checked when it is previewed, tested, scheduled or sent, and its audience when it is scheduled or sent. Needs a token with the role `member` or `admin`. */
        readonly create: Method<"POST /newsletters">;
        /** One newsletter, with its counts. Needs a token of any role. */
        readonly get: Method<"GET /newsletters/{newsletterId}">;
        /** Change a newsletter. Absent fields stay unchanged. `audience` replaces all filters. A newsletter that is no draft needs an admin token. Once it has started, its content and audience cannot be changed. Needs a token with the role `member` or `admin`. */
        readonly update: Method<"PATCH /newsletters/{newsletterId}">;
        /** Delete a newsletter. Only a draft, or with an admin token a newsletter that is scheduled or has ended, with its messages. One that is scheduled is not sent then. Needs a token with the role `member` or `admin`. */
        readonly delete: Method<"DELETE /newsletters/{newsletterId}">;
        /** Count who would get a newsletter now. Needs a token of any role. */
        readonly audience: Method<"GET /newsletters/{newsletterId}/audience">;
        /** Render a newsletter for a contact. Sends and stores nothing. Content that is given is shown instead of what is stored. Needs a token with the role `member` or `admin`. */
        readonly preview: Method<"POST /newsletters/{newsletterId}/preview">;
        /** Send a newsletter to some addresses. With sample values, and with links that do not work. Answers when the messages are handed over. Needs a token with the role `admin`. */
        readonly test: Method<"POST /newsletters/{newsletterId}/test">;
        /** Send or schedule a newsletter. Its recipients are the contacts who match the audience when it starts. Needs a token with the role `admin`. */
        readonly send: Method<"POST /newsletters/{newsletterId}/send">;
        /** Pause a newsletter. Messages that are being handed over are finished. Needs a token with the role `admin`. */
        readonly pause: Method<"POST /newsletters/{newsletterId}/pause">;
        /** Resume a newsletter. With `uncertain` also a newsletter that is being sent or was sent: its messages whose outcome is not known are skipped, or sent again. Those of a cancelled newsletter can only be skipped. Needs a token with the role `admin`. */
        readonly resume: Method<"POST /newsletters/{newsletterId}/resume">;
        /** Cancel a newsletter. Its pending messages are skipped. Needs a token with the role `admin`. */
        readonly cancel: Method<"POST /newsletters/{newsletterId}/cancel">;
        /** List the messages of a newsletter. Needs a token of any role. */
        readonly messages: Method<"GET /newsletters/{newsletterId}/messages">;
    };
    readonly sequences: {
        /** List sequences. Without their steps. Needs a token of any role. */
        readonly list: Method<"GET /sequences">;
        /** Create a sequence. Contacts who are added to its list from now on are enrolled. Needs a token with the role `admin`. */
        readonly create: Method<"POST /sequences">;
        /** One sequence with its steps. Needs a token of any role. */
        readonly get: Method<"GET /sequences/{sequenceId}">;
        /** Change, pause or activate a sequence. Absent fields stay unchanged. While it is paused, nothing is sent and its list enrols no contact. Needs a token with the role `admin`. */
        readonly update: Method<"PATCH /sequences/{sequenceId}">;
        /** Resume a sequence. A paused sequence becomes active. With `uncertain` also one that is active: its messages whose outcome is not known are skipped, or sent again. Needs a token with the role `admin`. */
        readonly resume: Method<"POST /sequences/{sequenceId}/resume">;
        /** Delete a sequence. With its steps, enrolments and messages. Needs a token with the role `admin`. */
        readonly delete: Method<"DELETE /sequences/{sequenceId}">;
        /** Replace the steps of a sequence. Steps with an `id` stay. A new step is sent to the contacts who are not past its place. A removed step is left out. If no step has an `id`, the steps match the stored ones by their positions: the first stays the first. Needs a token with the role `admin`. */
        readonly setSteps: Method<"PUT /sequences/{sequenceId}/steps">;
        /** Render a step for a contact. The step need not be stored. Sends and stores nothing. Needs a token with the role `member` or `admin`. */
        readonly preview: Method<"POST /sequences/{sequenceId}/preview">;
        /** List the contacts of a sequence. Needs a token of any role. */
        readonly enrolments: Method<"GET /sequences/{sequenceId}/enrolments">;
        /** List the messages of a sequence. Needs a token of any role. */
        readonly messages: Method<"GET /sequences/{sequenceId}/messages">;
        /** Enrol a contact. An enrolment that has ended begins again. One that is active stays as it is. Needs a token with the role `admin`. */
        readonly enrol: Method<"POST /sequences/{sequenceId}/enrolments">;
        /** Stop the enrolment of a contact. Needs a token with the role `admin`. */
        readonly stop: Method<"DELETE /sequences/{sequenceId}/enrolments/{contactId}">;
    };
    readonly identities: {
        /** List sender identities. Needs a token of any role. */
        readonly list: Method<"GET /email-identities">;
        /** Add a sender identity. It is `pending` until the provider verifies the address. An address can be added once. Needs a token with the role `admin`. */
        readonly create: Method<"POST /email-identities">;
        /** One sender identity. Needs a token of any role. */
        readonly get: Method<"GET /email-identities/{emailIdentityId}">;
        /** Ask the provider whether a sender identity is verified. Starts the verification if the identity is `pending`: Amazon SES mails its owner a link. Without such a provider the status stays. Needs a token with the role `admin`. */
        readonly refresh: Method<"POST /email-identities/{emailIdentityId}/refresh">;
        /** Delete a sender identity. Needs a token with the role `admin`. */
        readonly delete: Method<"DELETE /email-identities/{emailIdentityId}">;
    };
    readonly suppressions: {
        /** List the addresses that must not be mailed. Needs a token of any role. */
        readonly list: Method<"GET /suppressions">;
        /** Suppress an address. The address is not mailed, whether or not a contact has it. A contact with it can still be stored. An address that is suppressed already keeps its reason. Needs a token with the role `member` or `admin`. */
        readonly create: Method<"POST /suppressions">;
        /** Remove a suppression. The address can be mailed again. If it was erased, it can be stored again. Needs a token with the role `member` or `admin`. */
        readonly delete: Method<"DELETE /suppressions/{suppressionId}">;
    };
    readonly tokens: {
        /** List the client’s tokens. Without their secret values, and without revoked ones. Needs a token with the role `admin`. */
        readonly list: Method<"GET /tokens">;
        /** The token of this request, with its role and its client. Answers 404 if the host app authenticates the request in another way. Needs a token of any role. */
        readonly current: Method<"GET /tokens/current">;
        /** Create a token. Only this answer contains the token. Needs a token with the role `admin`. */
        readonly create: Method<"POST /tokens">;
        /** Revoke a token. It is invalid immediately; in other processes on PostgreSQL within 5 seconds. Needs a token with the role `admin`. */
        readonly revoke: Method<"DELETE /tokens/{tokenId}">;
    };
    readonly imports: {
        /** Imports with their progress, newest first. Imports are kept for 30 days. Needs a token of any role. */
        readonly list: Method<"GET /imports">;
        /** One import with its progress. The id is in the header `X-Import-Id` of the import’s answer. The progress is updated once a second. Needs a token of any role. */
        readonly get: Method<"GET /imports/{importId}">;
    };
    readonly portal: {
        /** Create a link to the webhook pages for a customer. The link opens the webhook endpoints and deliveries of this client in the console, and nothing else. It works for an hour by default, and cannot be revoked. Refused where the console is switched off. Needs a token with the role `admin`. */
        readonly createLink: Method<"POST /portal-links">;
    };
    readonly stats: {
        /** Delivered and failed attempts over time, and endpoints by state. Counts are kept for 90 days, also after the deliveries are deleted. Needs a token with the role `admin`. */
        readonly deliveries: Method<"GET /stats/deliveries">;
        /** Contacts gained and lost over time. Needs a token of any role. */
        readonly contacts: Method<"GET /stats/contacts">;
    };
    readonly auditLog: {
        /** Who changed what and when, newest first. Entries are written in the transaction of the change, and kept for 90 days. They have ids only, no personal data. Needs a token with the role `admin`. */
        readonly list: Method<"GET /audit-log">;
    };
}
export interface components {
    schemas: {
        Newsletter: {
            id: number;
            uuid: string;
            name: string;
            subject: string;
            preheader: string | null;
            /** @description null: the first verified identity when it is sent. */
            from_identity_id: number | null;
            /** Format: idn-email */
            reply_to: string | null;
            /** @enum {string} */
            status: "draft" | "scheduled" | "sending" | "paused" | "sent" | "cancelled" | "failed";
            /** @description Why it could not start. */
            error: string | null;
            counts: components["schemas"]["MessageCounts"];
            /** Format: date-time */
            scheduled_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            started_at: string | null;
            /** Format: date-time */
            finished_at: string | null;
            html: string;
            /** @description null: made from the html. */
            text: string | null;
            /** @description Subscribed contacts who match every filter. Without filters: all of them. */
            audience: {
                /** @description On any of these lists. */
                lists?: number[];
                /** @description With any of these tags. */
                tags?: number[];
                /** @description Subscribed to any of these topics. */
                topics?: number[];
                /** @description On none of these lists. */
                exclude_lists?: number[];
                /** @description With none of these tags. */
                exclude_tags?: number[];
                /** @description A segment, whose filters apply too. */
                segment?: number;
            };
        };
        NewsletterWithAudience: {
            id: number;
            uuid: string;
            name: string;
            subject: string;
            preheader: string | null;
            /** @description null: the first verified identity when it is sent. */
            from_identity_id: number | null;
            /** Format: idn-email */
            reply_to: string | null;
            /** @enum {string} */
            status: "draft" | "scheduled" | "sending" | "paused" | "sent" | "cancelled" | "failed";
            /** @description Why it could not start. */
            error: string | null;
            counts: components["schemas"]["MessageCounts"];
            /** Format: date-time */
            scheduled_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            started_at: string | null;
            /** Format: date-time */
            finished_at: string | null;
            html: string;
            /** @description null: made from the html. */
            text: string | null;
            /** @description Subscribed contacts who match every filter. Without filters: all of them. */
            audience: {
                /** @description On any of these lists. */
                lists?: number[];
                /** @description With any of these tags. */
                tags?: number[];
                /** @description Subscribed to any of these topics. */
                topics?: number[];
                /** @description On none of these lists. */
                exclude_lists?: number[];
                /** @description With none of these tags. */
                exclude_tags?: number[];
                /** @description A segment, whose filters apply too. */
                segment?: number;
            };
            /** @description Only with `audience`, and before it has started. null if it cannot be counted now: the route of the audience says why. */
            current_audience?: components["schemas"]["CurrentAudience"] | null;
        };
        /** @description Who would get a newsletter if it were sent now. */
        CurrentAudience: {
            count: number;
            /** @description The first 20, by ascending id. */
            contacts: {
                id: number;
                /** Format: idn-email */
                email: string;
            }[];
        };
        NewsletterSummary: {
            id: number;
            uuid: string;
            name: string;
            subject: string;
            preheader: string | null;
            /** @description null: the first verified identity when it is sent. */
            from_identity_id: number | null;
            /** Format: idn-email */
            reply_to: string | null;
            /** @enum {string} */
            status: "draft" | "scheduled" | "sending" | "paused" | "sent" | "cancelled" | "failed";
            /** @description Why it could not start. */
            error: string | null;
            counts: components["schemas"]["MessageCounts"];
            /** Format: date-time */
            scheduled_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            started_at: string | null;
            /** Format: date-time */
            finished_at: string | null;
            /** @description Subscribed contacts who match every filter. Without filters: all of them. */
            audience: {
                /** @description On any of these lists. */
                lists?: number[];
                /** @description With any of these tags. */
                tags?: number[];
                /** @description Subscribed to any of these topics. */
                topics?: number[];
                /** @description On none of these lists. */
                exclude_lists?: number[];
                /** @description With none of these tags. */
                exclude_tags?: number[];
                /** @description A segment, whose filters apply too. */
                segment?: number;
            };
        };
        MessageCounts: {
            /** @description The sum of the others. It grows while sending starts. */
            recipients: number;
            pending: number;
            sent: number;
            failed: number;
            skipped: number;
            uncertain: number;
        };
        Step: {
            id: number;
            /** @description From 1. */
            position: number;
            /** @description After the step before it; for the first step, after the enrolment. */
            delay_seconds: number;
            subject: string;
            preheader: string | null;
            html: string;
            /** @description null: made from the html. */
            text: string | null;
        };
        Preview: {
            subject: string;
            html: string;
            text: string;
        };
        TestResult: {
            /** Format: idn-email */
            email: string;
            /** @enum {string} */
            status: "sent" | "failed" | "uncertain";
            error: string | null;
        };
        Message: {
            id: number;
            /** @description The left part of the `Message-ID`. */
            uuid: string;
            /** @description null once the contact is erased. */
            contact_id: number | null;
            /**
             * Format: idn-email
             * @description The address of the contact as it is now. null once it is erased.
             */
            contact_email: string | null;
            newsletter_id: number | null;
            sequence_id: number | null;
            step_id: number | null;
            /**
             * @description `uncertain`: the process or the connection was lost while it was handed over. It is not sent again by itself.
             * @enum {string}
             */
            status: "pending" | "sent" | "failed" | "skipped" | "uncertain";
            /**
             * @description Why it was skipped.
             * @enum {string|null}
             */
            reason: "unsubscribed" | "suppressed" | "erased" | "left_list" | "left_topic" | "stopped" | "cancelled" | "uncertain" | null;
            attempts: number;
            error: string | null;
            provider_message_id: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            sent_at: string | null;
        };
        Sequence: {
            id: number;
            uuid: string;
            name: string;
            /** @description Contacts who are added to this list are enrolled. */
            list_id: number | null;
            /** @description null: the first verified identity. */
            from_identity_id: number | null;
            /** Format: idn-email */
            reply_to: string | null;
            /** @enum {string} */
            status: "active" | "paused";
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            steps: components["schemas"]["Step"][];
        };
        SequenceSummary: {
            id: number;
            uuid: string;
            name: string;
            /** @description Contacts who are added to this list are enrolled. */
            list_id: number | null;
            /** @description null: the first verified identity. */
            from_identity_id: number | null;
            /** Format: idn-email */
            reply_to: string | null;
            /** @enum {string} */
            status: "active" | "paused";
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        Enrolment: {
            id: number;
            sequence_id: number;
            contact_id: number;
            /**
             * Format: idn-email
             * @description The address of the contact as it is now. null once it is erased.
             */
            contact_email: string | null;
            /** @enum {string} */
            status: "active" | "completed" | "stopped";
            /**
             * @description Why it stopped. `manual`: by hand.
             * @enum {string|null}
             */
            reason: "unsubscribed" | "left_list" | "erased" | "manual" | null;
            /** @description null when no step follows, or when it has ended. */
            next_step_id: number | null;
            /**
             * Format: date-time
             * @description When the next step is due. null also while its message is under way.
             */
            due_at: string | null;
            /** Format: date-time */
            created_at: string;
        };
        Tag: {
            id: number;
            uuid: string;
            name: string;
            /** Format: date-time */
            created_at: string;
        };
        List: {
            id: number;
            uuid: string;
            name: string;
            /** Format: date-time */
            created_at: string;
        };
        CountedTag: {
            id: number;
            uuid: string;
            name: string;
            /** Format: date-time */
            created_at: string;
            /** @description Subscribed contacts. Only with `counts`. */
            contacts_count?: number;
        };
        ManagedList: {
            id: number;
            uuid: string;
            name: string;
            /** Format: date-time */
            created_at: string;
            /**
             * @description Contacts join only after they confirm it. Else absent.
             * @constant
             */
            double_opt_in?: true;
        };
        CountedList: {
            id: number;
            uuid: string;
            name: string;
            /** Format: date-time */
            created_at: string;
            /**
             * @description Contacts join only after they confirm it. Else absent.
             * @constant
             */
            double_opt_in?: true;
            /** @description Subscribed contacts. Only with `counts`. */
            contacts_count?: number;
        };
        Topic: {
            id: number;
            uuid: string;
            list_id: number;
            name: string;
            description: string | null;
            /** Format: date-time */
            created_at: string;
        };
        CountedTopic: {
            id: number;
            uuid: string;
            list_id: number;
            name: string;
            description: string | null;
            /** Format: date-time */
            created_at: string;
            /** @description Subscribed contacts. Only with `counts`. */
            contacts_count?: number;
        };
        Segment: {
            id: number;
            uuid: string;
            name: string;
            /** Format: date-time */
            created_at: string;
            filters: components["schemas"]["SegmentFilters"];
        };
        AttributeSettings: {
            /** @description Names of the attributes by which contacts can be filtered. */
            indexed: string[];
        };
        PageSettings: {
            /** @description Shown at the top of each page; null shows none. */
            name: string | null;
            /** @description Colour of buttons, `#rrggbb`; null is the built-in colour. */
            colour: string | null;
            /** @description Shown at the top of each page; null shows none. */
            logo_url: string | null;
            /**
             * @description null follows the language of the contact’s browser.
             * @enum {string|null}
             */
            language: "en" | "de" | "fr" | "es" | null;
            /** @description Own texts by name. The others are built in. */
            texts: {
                [key: string]: string;
            };
            /** @description `client.postal_address` in mails; null is the one of the whole service. */
            postal_address: string | null;
        };
        ContactLinks: {
            /**
             * Format: uri
             * @description Page with one button. Only its `POST` unsubscribes.
             */
            unsubscribe_url: string;
            /**
             * Format: uri
             * @description Page with the contact’s lists and topics.
             */
            preferences_url: string;
            /** @description Headers of a mail to this contact. `List-Unsubscribe-Post` is present if the public URL is `https`. */
            headers: {
                "List-Unsubscribe": string;
                "List-Unsubscribe-Post"?: string;
            };
        };
        PortalLink: {
            /**
             * Format: uri
             * @description The session token is in the fragment, which browsers send to no server.
             */
            url: string;
            /** Format: date-time */
            expires_at: string;
        };
        DeliverySeries: {
            /**
             * Format: date-time
             * @description When the oldest delivery that waits for an attempt became due; null when none is due.
             */
            oldest_due_at: string | null;
            endpoints: components["schemas"]["EndpointStates"];
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            to: string;
            /** @enum {string} */
            step: "minute" | "hour" | "day";
            series: {
                /**
                 * Format: date-time
                 * @description The beginning of the step.
                 */
                at: string;
                delivered: number;
                /** @description Failed attempts that are followed by another one. */
                retried: number;
                /** @description Deliveries that failed and will not be retried. */
                failed: number;
                /** @description Milliseconds from the event to its delivery: 95 % took at most about this long. null if none was delivered. */
                p95_ms: number | null;
            }[];
        };
        /** @description Number of endpoints by state, as they are now. */
        EndpointStates: {
            /** @description Active, and the last attempt did not fail. */
            healthy: number;
            /** @description The last attempt failed, or it was switched off after failures. */
            failing: number;
            /** @description Switched off by hand. */
            switched_off: number;
            /** @description At most five, by ascending id. */
            first_failing: {
                id: number;
                url: string;
                active: boolean;
                /** @enum {string|null} */
                disabled_reason: "auto_failures" | null;
                /** @description Failed attempts since the last success. */
                consecutive_failures: number;
            }[];
        };
        ContactSeries: {
            /** @description Contacts that are subscribed now. Only with `count`. */
            subscribed?: number;
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            to: string;
            /** @enum {string} */
            step: "minute" | "hour" | "day";
            series: {
                /**
                 * Format: date-time
                 * @description The beginning of the step.
                 */
                at: string;
                /** @description Contacts that were created then; of the last 90 days also those that were erased since. */
                created: number;
                /** @description Contacts that unsubscribed then; of the last 90 days also those that are subscribed again. */
                unsubscribed: number;
                /** @description Contacts that were erased one by one. */
                deleted: number;
            }[];
        };
        ContactCount: {
            count: number;
        };
        Contact: {
            id: number;
            uuid: string;
            /** @description Full name; empty if none was given. */
            name: string;
            /** Format: idn-email */
            email: string;
            extra_attributes: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @description null while subscribed.
             */
            unsubscribed_at: string | null;
            /** @description Whether the contact unsubscribed themselves. */
            unsubscribed_by_contact: boolean;
            tags: components["schemas"]["Tag"][];
            lists: components["schemas"]["List"][];
            /** Format: date-time */
            created_at: string;
            /** @description Topics that the contact is subscribed to. */
            topics: components["schemas"]["Topic"][];
        };
        /** @description A contact in the answers to create, update and remove from a list. */
        ContactWithoutTopics: {
            id: number;
            uuid: string;
            /** @description Full name; empty if none was given. */
            name: string;
            /** Format: idn-email */
            email: string;
            extra_attributes: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @description null while subscribed.
             */
            unsubscribed_at: string | null;
            /** @description Whether the contact unsubscribed themselves. */
            unsubscribed_by_contact: boolean;
            tags: components["schemas"]["Tag"][];
            lists: components["schemas"]["List"][];
            /** Format: date-time */
            created_at: string;
        };
        PersonalData: {
            contact: components["schemas"]["Contact"];
            /** @description The lists that the contact was asked to confirm. */
            pending_lists: components["schemas"]["List"][];
            /** @description null if mail to the address is allowed. */
            suppression: components["schemas"]["Suppression"] | null;
            /** @description Newest first. */
            history: components["schemas"]["HistoryEntry"][];
            /** @description Mails to the contact, newest first. */
            messages: components["schemas"]["Message"][];
            /** @description The sequences that the contact is or was enrolled in. */
            enrolments: components["schemas"]["Enrolment"][];
            /** @description Webhook deliveries whose payload shows the contact. */
            deliveries: components["schemas"]["ContactDelivery"][];
        };
        ContactDelivery: {
            id: number;
            /** @description The `X-Service-Delivery` of all its attempts. */
            uuid: string;
            /** @enum {string} */
            event_type: "contact.subscribed" | "contact.unsubscribed" | "contact.resubscribed" | "newsletter.sent" | "sequence_step.sent" | "sequence.completed" | "webhook.test" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.list_removed" | "contact.tagged" | "contact.untagged" | "contact.topic_subscribed" | "contact.topic_unsubscribed" | "contact.confirmation_requested";
            /**
             * @description `pending`: queued or waiting for the next attempt. `failed`: no further attempts. `held`: the endpoint was switched off.
             * @enum {string}
             */
            status: "pending" | "success" | "failed" | "held";
            /** @description Requests made, including interrupted ones. */
            attempts: number;
            /** @description HTTP status of the last answer; null before the first answer. */
            response_status: number | null;
            /**
             * Format: date-time
             * @description When an attempt succeeded.
             */
            delivered_at: string | null;
            endpoint_id: number;
            /** Format: date-time */
            created_at: string;
            /** @description The event as sent, with null as `confirm_url`. */
            payload: {
                [key: string]: unknown;
            };
        };
        HistoryEntry: {
            id: number;
            /**
             * @description `confirmed`: the contact confirmed a list with double opt-in, and joined it by that.
             * @enum {string}
             */
            type: "list_joined" | "list_left" | "topic_subscribed" | "topic_unsubscribed" | "unsubscribed" | "resubscribed" | "confirmation_requested" | "confirmed" | "bounced" | "complained";
            /**
             * @description `api`: a request. `library`: the host app. `import`: an imported file. `cli`: the command line. `preferences_page`: the contact, on the page of its preferences. `unsubscribe_page`: the contact, on the page to unsubscribe. `one_click`: the mail program of the contact (RFC 8058). `confirmation_link`: the contact, by the link of a confirmation mail. `provider`: a report of the mail provider.
             * @enum {string}
             */
            source: "api" | "library" | "import" | "cli" | "preferences_page" | "unsubscribe_page" | "one_click" | "confirmation_link" | "provider";
            /** @description The list, which may be deleted; null if the change concerns none. */
            list_id: number | null;
            /** @description The topic, which may be deleted; null if the change concerns none. */
            topic_id: number | null;
            /** @description The token of the request; null for a change without one. */
            token_id: number | null;
            /** @description Of the contact, for what it did itself; else null. */
            ip: string | null;
            /** @description Of the contact’s browser, for what it did itself; else null. */
            user_agent: string | null;
            /** Format: date-time */
            created_at: string;
        };
        Suppression: {
            id: number;
            /**
             * Format: idn-email
             * @description null for an erased contact, of whose address only a keyed hash is stored.
             */
            email: string | null;
            /**
             * @description `manual`: added by a request. `erased`: its contact was erased, and the address cannot be stored again.
             * @enum {string}
             */
            reason: "hard_bounce" | "complaint" | "manual" | "erased";
            /** Format: date-time */
            created_at: string;
        };
        AddedContact: {
            id: number;
            uuid: string;
            /** @description Full name; empty if none was given. */
            name: string;
            /** Format: idn-email */
            email: string;
            extra_attributes: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @description null while subscribed.
             */
            unsubscribed_at: string | null;
            /** @description Whether the contact unsubscribed themselves. */
            unsubscribed_by_contact: boolean;
            tags: components["schemas"]["Tag"][];
            lists: components["schemas"]["List"][];
            /** Format: date-time */
            created_at: string;
            /** @description The list, if the contact has to confirm it before it joins. Only of a list with double opt-in. */
            pending_lists?: components["schemas"]["List"][];
        };
        Identity: {
            id: number;
            uuid: string;
            /**
             * Format: idn-email
             * @description The sender’s address.
             */
            email: string;
            /** @description The display name. */
            name: string;
            /** @description Domain of the address. */
            domain: string;
            /** @enum {string} */
            identity_status: "pending" | "verifying" | "verified" | "failed";
            /**
             * Format: date-time
             * @description null unless verified.
             */
            verified_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        AuditEntry: {
            id: number;
            /** @enum {string} */
            type: "client.created" | "client.updated" | "token.created" | "token.revoked" | "list.created" | "list.updated" | "list.deleted" | "list.imported" | "topic.created" | "topic.updated" | "topic.deleted" | "tag.created" | "tag.updated" | "tag.deleted" | "segment.created" | "segment.updated" | "segment.deleted" | "import.created" | "attributes.declared" | "pages.updated" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.unsubscribed" | "contact.resubscribed" | "contact.list_added" | "contact.list_removed" | "contact.topic_subscribed" | "contact.topic_unsubscribed" | "suppression.created" | "suppression.deleted" | "identity.created" | "identity.deleted" | "newsletter.created" | "newsletter.updated" | "newsletter.deleted" | "newsletter.started" | "newsletter.paused" | "newsletter.resumed" | "newsletter.cancelled" | "sequence.created" | "sequence.updated" | "sequence.resumed" | "sequence.deleted" | "sequence.enrolled" | "sequence.stopped" | "endpoint.created" | "endpoint.updated" | "endpoint.deleted" | "endpoint.secret_rotated" | "endpoint.recovered" | "delivery.redelivered";
            /** @description The record that was changed. The first word of the type is its kind. It may be deleted. */
            target_id: number;
            /** @description The token of the request; null for a change without one. */
            token_id: number | null;
            /**
             * @description `api`: a request. `library`: the host app. `import`: an imported file. `cli`: the command line. `preferences_page`: the contact, on the page of its preferences. `unsubscribe_page`: the contact, on the page to unsubscribe. `one_click`: the mail program of the contact (RFC 8058). `confirmation_link`: the contact, by the link of a confirmation mail. `provider`: a report of the mail provider.
             * @enum {string}
             */
            source: "api" | "library" | "import" | "cli" | "preferences_page" | "unsubscribe_page" | "one_click" | "confirmation_link" | "provider";
            /** Format: date-time */
            created_at: string;
        };
        Token: {
            id: number;
            /** @description A label for people; null when none was given. */
            name: string | null;
            /** @enum {string} */
            role: "admin" | "member" | "viewer";
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description null when it is valid until it is revoked.
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description To the minute; null before the first use.
             */
            last_used_at: string | null;
        };
        CurrentToken: {
            id: number;
            /** @description A label for people; null when none was given. */
            name: string | null;
            /** @enum {string} */
            role: "admin" | "member" | "viewer";
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description null when it is valid until it is revoked.
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description To the minute; null before the first use.
             */
            last_used_at: string | null;
            /** @description The client that the token opens. */
            client_id: number;
        };
        NewToken: {
            id: number;
            /** @description A label for people; null when none was given. */
            name: string | null;
            /** @enum {string} */
            role: "admin" | "member" | "viewer";
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description null when it is valid until it is revoked.
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description To the minute; null before the first use.
             */
            last_used_at: string | null;
            /** @description The token, shown only in this answer. */
            token: string;
        };
        Import: {
            id: number;
            /** @description The list of the import; null if the file names the lists. */
            list_id: number | null;
            /** @description Whether nothing is stored. */
            dry_run: boolean;
            /**
             * @description `failed` also when its process died. The rows saved before stay.
             * @enum {string}
             */
            status: "running" | "finished" | "failed";
            /** @description Rows read so far, without blank ones. */
            rows: number;
            created: number;
            updated: number;
            /** @description Rows whose contact existed already, with `mode=skip`. */
            skipped: number;
            refused: number;
            /** @description Code of the error that ended it, `aborted` by its signal, or `abandoned` by its process. It is `invalid_json` if the upload was cut off. */
            error: string | null;
            /** Format: date-time */
            started_at: string;
            /** Format: date-time */
            finished_at: string | null;
        };
        ImportReport: {
            /** @description Rows that were read, without blank rows. */
            total: number;
            /** @description Rows that created a contact. */
            created: number;
            /** @description Rows whose contact existed already. */
            updated: number;
            refused: number;
            /** @description Rows whose contact existed already. Only with `mode=skip`. */
            skipped?: number;
            /** @description Nothing was stored. Only with `dry_run`. */
            dry_run?: boolean;
            /** @description The first refused rows, up to one megabyte. */
            refused_rows: components["schemas"]["RefusedRow"][];
        };
        RefusedRow: {
            /** @description Line of the file where the row ends. */
            line: number;
            /** @description Messages by field, as in an error; `row` if the row cannot be read. */
            errors: {
                [key: string]: string[];
            };
        };
        BatchResult: {
            /**
             * @description `created` and `updated`: the contact was saved. `refused`: nothing changed.
             * @enum {string}
             */
            status: "created" | "updated" | "done" | "refused";
            /** @description The contact, unless the operation was refused. */
            id?: number;
            /** @description Messages by field of the operation, if it was refused. */
            errors?: {
                [key: string]: string[];
            };
        };
        EventResult: {
            /**
             * @description `raised`: also if no endpoint subscribes to it. `refused`: nothing was stored.
             * @enum {string}
             */
            status: "raised" | "refused";
            /** @description Messages by field of the event, if it was refused. */
            errors?: {
                [key: string]: string[];
            };
        };
        Meta: {
            /**
             * Format: uri
             * @description URL of the listing, without its query.
             */
            path: string;
            per_page: number;
            /** @description Opaque value for `cursor`; null if there is no next page. */
            next_cursor: string | null;
            /** @description Opaque value for `cursor`; null if there is no previous page. */
            prev_cursor: string | null;
        };
        MetaWithoutPath: {
            per_page: number;
            /** @description Opaque value for `cursor`; null if there is no next page. */
            next_cursor: string | null;
            /** @description Opaque value for `cursor`; null if there is no previous page. */
            prev_cursor: string | null;
        };
        Endpoint: {
            id: number;
            uuid: string;
            url: string;
            description: string;
            events: ("contact.subscribed" | "contact.unsubscribed" | "contact.resubscribed" | "newsletter.sent" | "sequence_step.sent" | "sequence.completed" | "webhook.test" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.list_removed" | "contact.tagged" | "contact.untagged" | "contact.topic_subscribed" | "contact.topic_unsubscribed" | "contact.confirmation_requested")[];
            /** @description Whether the endpoint receives deliveries. */
            active: boolean;
            /**
             * @description null while active.
             * @enum {string|null}
             */
            disabled_reason: "manual" | "auto_failures" | null;
            /** @description Failed attempts since the last success. */
            consecutive_failures: number;
            /**
             * Format: date-time
             * @description null before the first attempt.
             */
            last_triggered_at: string | null;
        };
        NewEndpoint: {
            id: number;
            uuid: string;
            url: string;
            events: ("contact.subscribed" | "contact.unsubscribed" | "contact.resubscribed" | "newsletter.sent" | "sequence_step.sent" | "sequence.completed" | "webhook.test" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.list_removed" | "contact.tagged" | "contact.untagged" | "contact.topic_subscribed" | "contact.topic_unsubscribed" | "contact.confirmation_requested")[];
            /** @description Whether the endpoint receives deliveries. */
            active: boolean;
            /** @description The signing secret, shown only in this answer. */
            secret: string;
        };
        ChangedEndpoint: {
            id: number;
            active: boolean;
        };
        NewSecret: {
            id: number;
            /** @description The signing secret, shown only in this answer. */
            secret: string;
        };
        Delivery: {
            id: number;
            /** @description The `X-Service-Delivery` of all its attempts. */
            uuid: string;
            /** @enum {string} */
            event_type: "contact.subscribed" | "contact.unsubscribed" | "contact.resubscribed" | "newsletter.sent" | "sequence_step.sent" | "sequence.completed" | "webhook.test" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.list_removed" | "contact.tagged" | "contact.untagged" | "contact.topic_subscribed" | "contact.topic_unsubscribed" | "contact.confirmation_requested";
            /**
             * @description `pending`: queued or waiting for the next attempt. `failed`: no further attempts. `held`: the endpoint was switched off.
             * @enum {string}
             */
            status: "pending" | "success" | "failed" | "held";
            /** @description Requests made, including interrupted ones. */
            attempts: number;
            /** @description HTTP status of the last answer; null before the first answer. */
            response_status: number | null;
            /**
             * Format: date-time
             * @description When an attempt succeeded.
             */
            delivered_at: string | null;
        };
        EndpointDelivery: {
            id: number;
            /** @description The `X-Service-Delivery` of all its attempts. */
            uuid: string;
            /** @enum {string} */
            event_type: "contact.subscribed" | "contact.unsubscribed" | "contact.resubscribed" | "newsletter.sent" | "sequence_step.sent" | "sequence.completed" | "webhook.test" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.list_removed" | "contact.tagged" | "contact.untagged" | "contact.topic_subscribed" | "contact.topic_unsubscribed" | "contact.confirmation_requested";
            /**
             * @description `pending`: queued or waiting for the next attempt. `failed`: no further attempts. `held`: the endpoint was switched off.
             * @enum {string}
             */
            status: "pending" | "success" | "failed" | "held";
            /** @description Requests made, including interrupted ones. */
            attempts: number;
            /** @description HTTP status of the last answer; null before the first answer. */
            response_status: number | null;
            /**
             * Format: date-time
             * @description When an attempt succeeded.
             */
            delivered_at: string | null;
            endpoint_id: number;
            /** Format: date-time */
            created_at: string;
        };
        QueuedTest: {
            id: number;
            /** @constant */
            event_type: "webhook.test";
            /** @constant */
            status: "pending";
        };
        Attempt: {
            number: number;
            /** Format: date-time */
            started_at: string;
            /** @description null if the attempt was interrupted and its outcome is unknown. */
            duration_ms: number | null;
            response_status: number | null;
            /** @description Reason, as a sentence. null after an answer of 2xx. */
            error: string | null;
            /** @description The first 4 KiB of the answer. */
            response_body: string | null;
        };
        DeliveryDetail: {
            id: number;
            /** @description The `X-Service-Delivery` of all its attempts. */
            uuid: string;
            /** @enum {string} */
            event_type: "contact.subscribed" | "contact.unsubscribed" | "contact.resubscribed" | "newsletter.sent" | "sequence_step.sent" | "sequence.completed" | "webhook.test" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.list_removed" | "contact.tagged" | "contact.untagged" | "contact.topic_subscribed" | "contact.topic_unsubscribed" | "contact.confirmation_requested";
            /**
             * @description `pending`: queued or waiting for the next attempt. `failed`: no further attempts. `held`: the endpoint was switched off.
             * @enum {string}
             */
            status: "pending" | "success" | "failed" | "held";
            /** @description Requests made, including interrupted ones. */
            attempts: number;
            /** @description HTTP status of the last answer; null before the first answer. */
            response_status: number | null;
            /**
             * Format: date-time
             * @description When an attempt succeeded.
             */
            delivered_at: string | null;
            /** @description Why the last attempt failed, or why there will be no attempt. */
            error: string | null;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description null unless pending.
             */
            next_attempt_at: string | null;
            attempt_log: components["schemas"]["Attempt"][];
            /** @description The body of the delivery; null after erasure. */
            payload: components["schemas"]["ContactSubscribedEvent"] | components["schemas"]["ContactUnsubscribedEvent"] | components["schemas"]["ContactResubscribedEvent"] | components["schemas"]["NewsletterSentEvent"] | components["schemas"]["SequenceStepSentEvent"] | components["schemas"]["SequenceCompletedEvent"] | components["schemas"]["WebhookTestEvent"] | components["schemas"]["ContactCreatedEvent"] | components["schemas"]["ContactUpdatedEvent"] | components["schemas"]["ContactDeletedEvent"] | components["schemas"]["ContactListRemovedEvent"] | components["schemas"]["ContactTaggedEvent"] | components["schemas"]["ContactUntaggedEvent"] | components["schemas"]["ContactTopicSubscribedEvent"] | components["schemas"]["ContactTopicUnsubscribedEvent"] | components["schemas"]["ContactConfirmationRequestedEvent"] | null;
        };
        Recovery: {
            id: number;
            /**
             * @description `stopped`: the endpoint was switched off or deleted during the recovery.
             * @enum {string}
             */
            status: "pending" | "running" | "done" | "stopped";
            /** @description Deliveries found when the recovery started. Once it is `done`, the same as `done`. */
            total: number;
            /** @description Deliveries queued again so far. */
            done: number;
        };
        RaisedEvent: {
            type: string;
        };
        NewsletterInput: {
            /** @description Recipients do not see it. The subject when absent. */
            name?: string;
            /** @description Liquid. */
            subject: string;
            /** @description Shown beside the subject. */
            preheader?: string | null;
            /** @description Liquid. Must contain `{{ unsubscribe_url }}`. */
            html: string;
            /** @description Liquid. Must contain `{{ unsubscribe_url }}`. Made from the html when absent or null. */
            text?: string | null;
            /** @description null: the first verified identity. */
            from_identity_id?: number | null;
            /** Format: idn-email */
            reply_to?: string | null;
            /** @description Subscribed contacts who match every filter. Without filters: all of them. */
            audience?: {
                /** @description On any of these lists. */
                lists?: number[];
                /** @description With any of these tags. */
                tags?: number[];
                /** @description Subscribed to any of these topics. */
                topics?: number[];
                /** @description On none of these lists. */
                exclude_lists?: number[];
                /** @description With none of these tags. */
                exclude_tags?: number[];
                /** @description A segment, whose filters apply too. */
                segment?: number;
            };
        };
        NewsletterChange: {
            /** @description Recipients do not see it. The subject when absent. */
            name?: string;
            /** @description Liquid. */
            subject?: string;
            /** @description Shown beside the subject. */
            preheader?: string | null;
            /** @description Liquid. Must contain `{{ unsubscribe_url }}`. */
            html?: string;
            /** @description Liquid. Must contain `{{ unsubscribe_url }}`. Made from the html when absent or null. */
            text?: string | null;
            /** @description null: the first verified identity. */
            from_identity_id?: number | null;
            /** Format: idn-email */
            reply_to?: string | null;
            /** @description Subscribed contacts who match every filter. Without filters: all of them. */
            audience?: {
                /** @description On any of these lists. */
                lists?: number[];
                /** @description With any of these tags. */
                tags?: number[];
                /** @description Subscribed to any of these topics. */
                topics?: number[];
                /** @description On none of these lists. */
                exclude_lists?: number[];
                /** @description With none of these tags. */
                exclude_tags?: number[];
                /** @description A segment, whose filters apply too. */
                segment?: number;
            };
        };
        PreviewInput: {
            /** @description The contact: its id, or `{email}`. */
            contact_id: number | {
                /** Format: idn-email */
                email: string;
            };
            /** @description Liquid. */
            subject?: string;
            /** @description Shown beside the subject. */
            preheader?: string | null;
            /** @description Liquid. Must contain `{{ unsubscribe_url }}`. */
            html?: string;
            /** @description Liquid. Must contain `{{ unsubscribe_url }}`. Made from the html when absent or null. */
            text?: string | null;
        };
        TestInput: {
            emails: string[];
        };
        SendInput: {
            /** @description ISO 8601 with an offset. Now when absent. */
            at?: string;
        };
        ResumeInput: {
            /**
             * @description What to do with `uncertain` messages.
             * @enum {string}
             */
            uncertain?: "skip" | "resend";
        };
        SequenceInput: {
            /** @description Trimmed and normalized to NFC before its length is checked. */
            name: string;
            /** @description Contacts who are added to this list are enrolled. */
            list_id?: number | null;
            /** @description null: the first verified identity. */
            from_identity_id?: number | null;
            /** Format: idn-email */
            reply_to?: string | null;
            /**
             * @description `active` when absent.
             * @enum {string}
             */
            status?: "active" | "paused";
            steps?: {
                /** @description A step that stays. Without it the step is new, unless no step has one. */
                id?: number;
                /** @description Orders the steps if every step has one. Else the array does. */
                position?: number;
                /** @description After the step before it. */
                delay_seconds: number;
                /** @description Liquid. */
                subject: string;
                /** @description Shown beside the subject. */
                preheader?: string | null;
                /** @description Liquid. Must contain `{{ unsubscribe_url }}`. */
                html: string;
                /** @description Liquid. Must contain `{{ unsubscribe_url }}`. Made from the html when absent or null. */
                text?: string | null;
            }[];
        };
        SequenceChange: {
            /** @description Trimmed and normalized to NFC before its length is checked. */
            name?: string;
            /** @description Contacts who are added to this list are enrolled. */
            list_id?: number | null;
            /** @description null: the first verified identity. */
            from_identity_id?: number | null;
            /** Format: idn-email */
            reply_to?: string | null;
            /** @enum {string} */
            status?: "active" | "paused";
        };
        StepsInput: {
            steps: {
                /** @description A step that stays. Without it the step is new, unless no step has one. */
                id?: number;
                /** @description Orders the steps if every step has one. Else the array does. */
                position?: number;
                /** @description After the step before it. */
                delay_seconds: number;
                /** @description Liquid. */
                subject: string;
                /** @description Shown beside the subject. */
                preheader?: string | null;
                /** @description Liquid. Must contain `{{ unsubscribe_url }}`. */
                html: string;
                /** @description Liquid. Must contain `{{ unsubscribe_url }}`. Made from the html when absent or null. */
                text?: string | null;
            }[];
        };
        StepPreviewInput: {
            /** @description The contact: its id, or `{email}`. */
            contact_id: number | {
                /** Format: idn-email */
                email: string;
            };
            /** @description Liquid. */
            subject: string;
            /** @description Shown beside the subject. */
            preheader?: string | null;
            /** @description Liquid. Must contain `{{ unsubscribe_url }}`. */
            html: string;
            /** @description Liquid. Must contain `{{ unsubscribe_url }}`. Made from the html when absent or null. */
            text?: string | null;
        };
        EnrolmentInput: {
            /** @description The contact: its id, or `{email}`. */
            contact_id: number | {
                /** Format: idn-email */
                email: string;
            };
        };
        TagInput: {
            /** @description Trimmed and normalized to NFC before its length is checked. Unique without regard to case. */
            name: string;
        };
        ListInput: {
            /** @description Trimmed and normalized to NFC before its length is checked. Two lists may have the same name. */
            name: string;
            /** @description Whether contacts join only after they follow the link of a confirmation mail. Default false. */
            double_opt_in?: boolean;
        };
        ListChange: {
            /** @description Trimmed and normalized to NFC before its length is checked. Two lists may have the same name. */
            name?: string;
            /** @description Whether contacts join only after they follow the link of a confirmation mail. Default false. */
            double_opt_in?: boolean;
        };
        TopicInput: {
            /** @description Trimmed and normalized to NFC before its length is checked. */
            name: string;
            description?: string | null;
        };
        TopicChange: {
            /** @description Trimmed and normalized to NFC before its length is checked. */
            name?: string;
            description?: string | null;
        };
        IdentityInput: {
            /**
             * Format: idn-email
             * @description Unique without regard to case. Trimmed.
             */
            email: string;
            /** @description The sender’s name. Empty when absent. */
            name?: string;
        };
        SegmentInput: {
            /** @description Trimmed and normalized to NFC before its length is checked. */
            name: string;
            filters: components["schemas"]["SegmentFilters"];
        };
        SegmentChange: {
            /** @description Trimmed and normalized to NFC before its length is checked. */
            name?: string;
            filters?: components["schemas"]["SegmentFilters"];
        };
        AttributeSettingsInput: {
            /** @description Names of attributes. Repeats are dropped. */
            indexed: string[];
        };
        PageSettingsInput: {
            /** @description Shown at the top of each page. Trimmed and normalized to NFC before its length is checked. */
            name?: string | null;
            /** @description Of buttons. The text on it is black or white, whichever has more contrast. */
            colour?: string | null;
            /** @description Must be `https`. The pages load nothing else from elsewhere. */
            logo_url?: string | null;
            /**
             * @description Without it, the language of the contact’s browser.
             * @enum {string|null}
             */
            language?: "en" | "de" | "fr" | "es" | null;
            /** @description Own texts by name, instead of the built-in ones. `{email}` is replaced, and on the page to confirm `{list}`. An empty text is left out; titles and buttons must not be empty. */
            texts?: {
                unsubscribe_title?: string;
                unsubscribe_text?: string;
                unsubscribe_button?: string;
                unsubscribed_title?: string;
                unsubscribed_text?: string;
                resubscribe_hint?: string;
                resubscribe_button?: string;
                resubscribed_title?: string;
                resubscribed_text?: string;
                preferences_title?: string;
                preferences_text?: string;
                preferences_empty?: string;
                preferences_button?: string;
                preferences_saved?: string;
                unsubscribe_all_text?: string;
                unsubscribe_all_button?: string;
                confirm_title?: string;
                confirm_text?: string;
                confirm_button?: string;
                confirmed_title?: string;
                confirmed_text?: string;
            };
            /** @description `client.postal_address` in mails. Without it, the one of the whole service. */
            postal_address?: string | null;
        };
        /** @description Every other field is an attribute; a contact has at most 100. */
        ContactInput: {
            /**
             * Format: idn-email
             * @description Identifies the contact, without regard to case. Trimmed.
             */
            email: string;
            /** @description Full name. Unchanged when absent. */
            name?: string;
            /** @description Names; tags that do not exist are created. Tags are added, never removed. */
            tags?: string[];
            /** @description true: the contact has confirmed elsewhere that it joins the list, so that double opt-in is skipped. Only for admins. A text is the value of an attribute. */
            confirmed?: boolean | string | null;
        } & {
            [key: string]: (string[] | boolean) | (string | null);
        };
        /** @description Every other field is an attribute; a contact has at most 100. */
        ContactUpsert: {
            /**
             * Format: idn-email
             * @description Identifies the contact, without regard to case. Trimmed.
             */
            email: string;
            /** @description Full name. Unchanged when absent. */
            name?: string;
            /** @description Names; tags that do not exist are created. Tags are added, never removed. */
            tags?: string[];
        } & {
            [key: string]: (string[] | boolean) | (string | null);
        };
        /** @description Every other field is an attribute; a contact has at most 100. POST /contacts/{contactId}/email changes the address. */
        ContactChange: {
            /** @description Full name. Unchanged when absent. */
            name?: string;
            /** @description Names. They replace the contact’s tags. */
            tags?: string[];
        } & {
            [key: string]: (string[] | boolean) | (string | null);
        };
        SuppressionInput: {
            /**
             * Format: idn-email
             * @description Trimmed.
             */
            email: string;
        };
        EmailInput: {
            /**
             * Format: idn-email
             * @description The new address. Trimmed.
             */
            email: string;
        };
        TagsInput: {
            /** @description Names of tags. */
            tags: string[];
        };
        MergeInput: {
            /** @description The contact that stays: its id, or `{email}`. */
            into: number | {
                /** Format: idn-email */
                email: string;
            };
        };
        BatchInput: {
            operations: ({
                /** @enum {string} */
                op: "upsert" | "update" | "tag" | "untag" | "add_to_list" | "remove_from_list" | "unsubscribe" | "resubscribe" | "delete";
                /** @description The contact. Every operation except `upsert` takes `id` or `email`. */
                id?: number;
                /** Format: idn-email */
                email?: string;
                /** @description Full name. Unchanged when absent. */
                name?: string;
                /** @description Names, for `upsert`, `update`, `tag` and `untag`. */
                tags?: string[];
                /** @description For `upsert`, `add_to_list` and `remove_from_list`. */
                lists?: number[];
                /** @description Whether double opt-in of the lists is skipped. Only for admins. */
                confirmed?: boolean;
                /** @description One list, instead of `lists`, for the last two. */
                list_id?: number;
            } & {
                [key: string]: unknown;
            })[];
        };
        EndpointInput: {
            /** @description Must be `https` with a public host and port 443 or 8443, unless configured otherwise. No user name, password or fragment. */
            url: string;
            /** @description Repeats are dropped. */
            events: ("contact.subscribed" | "contact.unsubscribed" | "contact.resubscribed" | "newsletter.sent" | "sequence_step.sent" | "sequence.completed" | "webhook.test" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.list_removed" | "contact.tagged" | "contact.untagged" | "contact.topic_subscribed" | "contact.topic_unsubscribed" | "contact.confirmation_requested")[];
            /** @description Empty when absent. */
            description?: string;
        };
        EndpointChange: {
            active?: boolean;
            description?: string;
        };
        EventInput: {
            /** @enum {string} */
            type: "newsletter.sent" | "sequence_step.sent" | "sequence.completed";
            /** @description Data for the receivers. The event’s body has at most 65536 bytes. */
            data: {
                [key: string]: unknown;
            };
        };
        EventBatchInput: {
            events: {
                /** @enum {string} */
                type: "newsletter.sent" | "sequence_step.sent" | "sequence.completed";
                /** @description Data for the receivers. The event’s body has at most 65536 bytes. */
                data: {
                    [key: string]: unknown;
                };
            }[];
        };
        RotationInput: {
            /** @description For how long the previous secret signs too. Default 0. */
            overlap_hours?: number;
        };
        TokenInput: {
            /** @description A label for people. Trimmed and normalized to NFC before its length is checked. */
            name: string;
            /**
             * @description `viewer` reads, `member` also writes contacts, tags, lists, topics, segments, suppressions and drafts of newsletters, `admin` may do everything.
             * @enum {string}
             */
            role: "admin" | "member" | "viewer";
            /** @description Seconds from now. Without it the token is valid until it is revoked. */
            expires_in?: number;
        };
        PortalLinkInput: {
            /**
             * @description What the link opens.
             * @enum {string}
             */
            role: "webhooks";
            /** @description Seconds from now. 3600 when absent. */
            expires_in?: number;
        };
        RecoverInput: {
            /** @description ISO 8601 with an offset. */
            since: string;
        };
        /** @description A contact must match every filter. At most 16384 bytes as JSON. */
        SegmentFilters: {
            /** @description On any of these lists. */
            lists?: number[];
            /** @description With any of these tags. */
            tags?: number[];
            /** @description Subscribed to any of these topics. */
            topics?: number[];
            /** @description On none of these lists. */
            exclude_lists?: number[];
            /** @description With none of these tags. */
            exclude_tags?: number[];
            /** @description Values of declared attributes. */
            attributes?: {
                [key: string]: string;
            };
            /** @description Substring of the name or e-mail address. */
            search?: string;
            /** @description ISO 8601 with an offset. */
            created_after?: string;
            /** @description ISO 8601 with an offset. */
            created_before?: string;
        };
        ContactSubscribedEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "contact.subscribed";
            /** Format: date-time */
            created_at: string;
            /** @description The contact and the list after the change. */
            data: {
                contact: components["schemas"]["Contact"];
                list: components["schemas"]["List"];
                /** @description Fields of the contact that are empty because the body would be too large. Fetch the contact to get them. */
                truncated?: ("extra_attributes" | "tags" | "lists" | "topics")[];
            };
        };
        ContactUnsubscribedEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "contact.unsubscribed";
            /** Format: date-time */
            created_at: string;
            /** @description The contact after the change. */
            data: {
                contact: components["schemas"]["Contact"];
                /** @description Fields of the contact that are empty because the body would be too large. Fetch the contact to get them. */
                truncated?: ("extra_attributes" | "tags" | "lists" | "topics")[];
            };
        };
        ContactResubscribedEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "contact.resubscribed";
            /** Format: date-time */
            created_at: string;
            /** @description The contact after the change. */
            data: {
                contact: components["schemas"]["Contact"];
                /** @description Fields of the contact that are empty because the body would be too large. Fetch the contact to get them. */
                truncated?: ("extra_attributes" | "tags" | "lists" | "topics")[];
            };
        };
        NewsletterSentEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "newsletter.sent";
            /** Format: date-time */
            created_at: string;
            /** @description `newsletter`, and `counts` of its messages. An event of a host has the data that the caller of `POST /events` sent. */
            data: {
                [key: string]: unknown;
            };
        };
        SequenceStepSentEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "sequence_step.sent";
            /** Format: date-time */
            created_at: string;
            /** @description `contact`, `sequence`, `step` and `message_id`. An event of a host has the data that the caller of `POST /events` sent. */
            data: {
                [key: string]: unknown;
            };
        };
        SequenceCompletedEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "sequence.completed";
            /** Format: date-time */
            created_at: string;
            /** @description `contact` and `sequence`. An event of a host has the data that the caller of `POST /events` sent. */
            data: {
                [key: string]: unknown;
            };
        };
        WebhookTestEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "webhook.test";
            /** Format: date-time */
            created_at: string;
            data: {
                message: string;
            };
        };
        ContactCreatedEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "contact.created";
            /** Format: date-time */
            created_at: string;
            /** @description The contact after the change. */
            data: {
                contact: components["schemas"]["Contact"];
                /** @description Fields of the contact that are empty because the body would be too large. Fetch the contact to get them. */
                truncated?: ("extra_attributes" | "tags" | "lists" | "topics")[];
            };
        };
        ContactUpdatedEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "contact.updated";
            /** Format: date-time */
            created_at: string;
            /** @description The contact after the change. */
            data: {
                contact: components["schemas"]["Contact"];
                /** @description Fields of the contact that are empty because the body would be too large. Fetch the contact to get them. */
                truncated?: ("extra_attributes" | "tags" | "lists" | "topics")[];
            };
        };
        ContactDeletedEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "contact.deleted";
            /** Format: date-time */
            created_at: string;
            /** @description What identifies the contact, as it was. */
            data: {
                contact: {
                    id: number;
                    uuid: string;
                    /** Format: idn-email */
                    email: string;
                };
            };
        };
        ContactListRemovedEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "contact.list_removed";
            /** Format: date-time */
            created_at: string;
            /** @description The contact and the list after the change. */
            data: {
                contact: components["schemas"]["Contact"];
                list: components["schemas"]["List"];
                /** @description Fields of the contact that are empty because the body would be too large. Fetch the contact to get them. */
                truncated?: ("extra_attributes" | "tags" | "lists" | "topics")[];
            };
        };
        ContactTaggedEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "contact.tagged";
            /** Format: date-time */
            created_at: string;
            /** @description The contact after the change, and the tag. */
            data: {
                contact: components["schemas"]["Contact"];
                tag: components["schemas"]["Tag"];
                /** @description Fields of the contact that are empty because the body would be too large. Fetch the contact to get them. */
                truncated?: ("extra_attributes" | "tags" | "lists" | "topics")[];
            };
        };
        ContactUntaggedEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "contact.untagged";
            /** Format: date-time */
            created_at: string;
            /** @description The contact after the change, and the tag. */
            data: {
                contact: components["schemas"]["Contact"];
                tag: components["schemas"]["Tag"];
                /** @description Fields of the contact that are empty because the body would be too large. Fetch the contact to get them. */
                truncated?: ("extra_attributes" | "tags" | "lists" | "topics")[];
            };
        };
        ContactTopicSubscribedEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "contact.topic_subscribed";
            /** Format: date-time */
            created_at: string;
            /** @description The contact after the change, and the topic. */
            data: {
                contact: components["schemas"]["Contact"];
                topic: components["schemas"]["Topic"];
                /** @description Fields of the contact that are empty because the body would be too large. Fetch the contact to get them. */
                truncated?: ("extra_attributes" | "tags" | "lists" | "topics")[];
            };
        };
        ContactTopicUnsubscribedEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "contact.topic_unsubscribed";
            /** Format: date-time */
            created_at: string;
            /** @description The contact after the change, and the topic. */
            data: {
                contact: components["schemas"]["Contact"];
                topic: components["schemas"]["Topic"];
                /** @description Fields of the contact that are empty because the body would be too large. Fetch the contact to get them. */
                truncated?: ("extra_attributes" | "tags" | "lists" | "topics")[];
            };
        };
        ContactConfirmationRequestedEvent: {
            /** @description Id of the event, the same for all endpoints. */
            id: string;
            /** @constant */
            type: "contact.confirmation_requested";
            /** Format: date-time */
            created_at: string;
            data: {
                contact: components["schemas"]["Contact"];
                list: components["schemas"]["List"];
                /**
                 * Format: uri
                 * @description The page to confirm. Works for 30 days.
                 */
                confirm_url: string;
                /** @description Fields of the contact that are empty because the body would be too large. Fetch the contact to get them. */
                truncated?: ("extra_attributes" | "tags" | "lists" | "topics")[];
            };
        };
        /** @description The shape of every error. */
        Error: {
            /** @description For people. */
            message: string;
            /**
             * @description For programs. The list is closed.
             * @enum {string}
             */
            code: "unauthenticated" | "forbidden" | "not_found" | "method_not_allowed" | "unsupported_media_type" | "invalid_json" | "body_too_large" | "validation_failed" | "conflict" | "idempotency_mismatch" | "rate_limited" | "unavailable" | "internal";
            /** @description Messages by field. Array positions follow a dot: `tags.0`. Always present with `validation_failed`. */
            errors?: {
                [key: string]: string[];
            };
        };
        Routes: {
            "GET /tags": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                    /** @description Whether each record has `contacts_count`. `1` and `0` are accepted too. */
                    counts?: boolean;
                };
                answer: {
                    data: components["schemas"]["CountedTag"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "POST /tags": {
                body: components["schemas"]["TagInput"];
                answer: {
                    data: components["schemas"]["Tag"];
                };
            };
            "PATCH /tags/{tagId}": {
                body: components["schemas"]["TagInput"];
                answer: {
                    data: components["schemas"]["Tag"];
                };
            };
            "DELETE /tags/{tagId}": Record<string, never>;
            "GET /contacts": {
                query: {
                    /** @description On any of these lists. */
                    "lists[]"?: number[];
                    /** @description With any of these tags. */
                    "tags[]"?: number[];
                    /** @description Currently subscribed to any of these topics. */
                    "topics[]"?: number[];
                    /** @description Substring of the name or e-mail address, without regard to case or wildcards. */
                    search?: string;
                    /** @description Whether to include unsubscribed contacts. `1` and `0` are accepted too. */
                    include_unsubscribed?: boolean;
                    /**
                     * @description `only`: returns unsubscribed contacts only.
                     * @enum {string}
                     */
                    unsubscribed?: "only";
                    /**
                     * Format: idn-email
                     * @description The exact e-mail address, in any case, and with its domain in Unicode or Punycode.
                     */
                    email?: string;
                    /** @description One of these contacts. */
                    "ids[]"?: number[];
                    /** @description On none of these lists. */
                    "exclude_lists[]"?: number[];
                    /** @description With none of these tags. */
                    "exclude_tags[]"?: number[];
                    /** @description With these values of declared attributes, compared exactly: `attributes[plan]=pro`. `PUT /settings/attributes` declares attributes. */
                    attributes?: {
                        [key: string]: string;
                    };
                    /** @description Created later than this: ISO 8601 with an offset. */
                    created_after?: string;
                    /** @description Created earlier than this: ISO 8601 with an offset. */
                    created_before?: string;
                    /** @description Id of a segment. Its filters apply in addition to the others. */
                    segment?: number;
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                };
                answer: {
                    data: components["schemas"]["Contact"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "GET /contacts/{contactId}": {
                answer: {
                    data: components["schemas"]["Contact"];
                };
            };
            "GET /contacts/count": {
                query: {
                    /** @description On any of these lists. */
                    "lists[]"?: number[];
                    /** @description With any of these tags. */
                    "tags[]"?: number[];
                    /** @description Currently subscribed to any of these topics. */
                    "topics[]"?: number[];
                    /** @description Substring of the name or e-mail address, without regard to case or wildcards. */
                    search?: string;
                    /** @description Whether to include unsubscribed contacts. `1` and `0` are accepted too. */
                    include_unsubscribed?: boolean;
                    /**
                     * @description `only`: returns unsubscribed contacts only.
                     * @enum {string}
                     */
                    unsubscribed?: "only";
                    /**
                     * Format: idn-email
                     * @description The exact e-mail address, in any case, and with its domain in Unicode or Punycode.
                     */
                    email?: string;
                    /** @description One of these contacts. */
                    "ids[]"?: number[];
                    /** @description On none of these lists. */
                    "exclude_lists[]"?: number[];
                    /** @description With none of these tags. */
                    "exclude_tags[]"?: number[];
                    /** @description With these values of declared attributes, compared exactly: `attributes[plan]=pro`. `PUT /settings/attributes` declares attributes. */
                    attributes?: {
                        [key: string]: string;
                    };
                    /** @description Created later than this: ISO 8601 with an offset. */
                    created_after?: string;
                    /** @description Created earlier than this: ISO 8601 with an offset. */
                    created_before?: string;
                    /** @description Id of a segment. Its filters apply in addition to the others. */
                    segment?: number;
                };
                answer: {
                    data: components["schemas"]["ContactCount"];
                };
            };
            "POST /contacts": {
                body: components["schemas"]["ContactUpsert"];
                answer: {
                    data: components["schemas"]["Contact"];
                };
            };
            "POST /lists/{listId}/contacts": {
                body: components["schemas"]["ContactInput"];
                answer: {
                    data: components["schemas"]["AddedContact"];
                };
            };
            "DELETE /lists/{listId}/contacts/{contactId}": {
                answer: {
                    data: components["schemas"]["ContactWithoutTopics"];
                };
            };
            "PUT /contacts/{contactId}": {
                body: components["schemas"]["ContactChange"];
                answer: {
                    data: components["schemas"]["ContactWithoutTopics"];
                };
            };
            "POST /contacts/{contactId}/email": {
                body: components["schemas"]["EmailInput"];
                answer: {
                    data: components["schemas"]["Contact"];
                };
            };
            "POST /contacts/{contactId}/tags": {
                body: components["schemas"]["TagsInput"];
                answer: {
                    data: components["schemas"]["Contact"];
                };
            };
            "DELETE /contacts/{contactId}/tags": {
                body: components["schemas"]["TagsInput"];
                answer: {
                    data: components["schemas"]["Contact"];
                };
            };
            "POST /contacts/{contactId}/merge": {
                body: components["schemas"]["MergeInput"];
                answer: {
                    data: components["schemas"]["Contact"];
                };
            };
            "POST /contacts/batch": {
                body: components["schemas"]["BatchInput"];
                answer: {
                    data: components["schemas"]["BatchResult"][];
                };
            };
            "POST /contacts/{contactId}/unsubscribe": {
                answer: {
                    data: components["schemas"]["Contact"];
                };
            };
            "POST /contacts/{contactId}/resubscribe": {
                answer: {
                    data: components["schemas"]["Contact"];
                };
            };
            "PUT /contacts/{contactId}/topics/{topicId}": {
                answer: {
                    data: components["schemas"]["Contact"];
                };
            };
            "DELETE /contacts/{contactId}/topics/{topicId}": {
                answer: {
                    data: components["schemas"]["Contact"];
                };
            };
            "DELETE /contacts/{contactId}": {
                query: {
                    /** @description Whether to leave a keyed hash of the address, so that it cannot be stored again. `1` and `0` are accepted too. */
                    suppress?: boolean;
                };
            };
            "GET /contacts/{contactId}/history": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                };
                answer: {
                    data: components["schemas"]["HistoryEntry"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "POST /contacts/{contactId}/links": {
                answer: {
                    data: components["schemas"]["ContactLinks"];
                };
            };
            "GET /contacts/{contactId}/data": {
                answer: {
                    data: components["schemas"]["PersonalData"];
                };
            };
            "GET /contacts/{contactId}/messages": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                };
                answer: {
                    data: components["schemas"]["Message"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "GET /lists": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                    /** @description Whether each record has `contacts_count`. `1` and `0` are accepted too. */
                    counts?: boolean;
                };
                answer: {
                    data: components["schemas"]["CountedList"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "POST /lists": {
                body: components["schemas"]["ListInput"];
                answer: {
                    data: components["schemas"]["ManagedList"];
                };
            };
            "GET /lists/{listId}": {
                answer: {
                    data: components["schemas"]["ManagedList"];
                };
            };
            "PATCH /lists/{listId}": {
                body: components["schemas"]["ListChange"];
                answer: {
                    data: components["schemas"]["ManagedList"];
                };
            };
            "DELETE /lists/{listId}": Record<string, never>;
            "GET /lists/{listId}/topics": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                    /** @description Whether each record has `contacts_count`. `1` and `0` are accepted too. */
                    counts?: boolean;
                };
                answer: {
                    data: components["schemas"]["CountedTopic"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "POST /lists/{listId}/topics": {
                body: components["schemas"]["TopicInput"];
                answer: {
                    data: components["schemas"]["Topic"];
                };
            };
            "PATCH /topics/{topicId}": {
                body: components["schemas"]["TopicChange"];
                answer: {
                    data: components["schemas"]["Topic"];
                };
            };
            "DELETE /topics/{topicId}": Record<string, never>;
            "GET /segments": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                };
                answer: {
                    data: components["schemas"]["Segment"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "POST /segments": {
                body: components["schemas"]["SegmentInput"];
                answer: {
                    data: components["schemas"]["Segment"];
                };
            };
            "GET /segments/{segmentId}": {
                answer: {
                    data: components["schemas"]["Segment"];
                };
            };
            "PATCH /segments/{segmentId}": {
                body: components["schemas"]["SegmentChange"];
                answer: {
                    data: components["schemas"]["Segment"];
                };
            };
            "DELETE /segments/{segmentId}": Record<string, never>;
            "GET /settings/attributes": {
                answer: {
                    data: components["schemas"]["AttributeSettings"];
                };
            };
            "PUT /settings/attributes": {
                body: components["schemas"]["AttributeSettingsInput"];
                answer: {
                    data: components["schemas"]["AttributeSettings"];
                };
            };
            "GET /settings/pages": {
                answer: {
                    data: components["schemas"]["PageSettings"];
                };
            };
            "PUT /settings/pages": {
                body: components["schemas"]["PageSettingsInput"];
                answer: {
                    data: components["schemas"]["PageSettings"];
                };
            };
            "GET /webhook-endpoints": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                };
                answer: {
                    data: components["schemas"]["Endpoint"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "POST /webhook-endpoints": {
                body: components["schemas"]["EndpointInput"];
                answer: {
                    data: components["schemas"]["NewEndpoint"];
                };
            };
            "GET /webhook-endpoints/{endpointId}": {
                answer: {
                    data: components["schemas"]["Endpoint"];
                };
            };
            "PATCH /webhook-endpoints/{endpointId}": {
                body: components["schemas"]["EndpointChange"];
                answer: {
                    data: components["schemas"]["ChangedEndpoint"];
                };
            };
            "DELETE /webhook-endpoints/{endpointId}": Record<string, never>;
            "POST /webhook-endpoints/{endpointId}/test": {
                answer: {
                    data: components["schemas"]["QueuedTest"];
                };
            };
            "POST /webhook-endpoints/{endpointId}/secret": {
                body: components["schemas"]["RotationInput"];
                answer: {
                    data: components["schemas"]["NewSecret"];
                };
            };
            "POST /webhook-endpoints/{endpointId}/recover": {
                body: components["schemas"]["RecoverInput"];
                answer: {
                    data: components["schemas"]["Recovery"];
                };
            };
            "GET /webhook-endpoints/{endpointId}/recoveries/{recoveryId}": {
                answer: {
                    data: components["schemas"]["Recovery"];
                };
            };
            "GET /deliveries": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                    /**
                     * @description Only deliveries in this state.
                     * @enum {string}
                     */
                    status?: "pending" | "success" | "failed" | "held";
                    /**
                     * @description Only deliveries of this event type.
                     * @enum {string}
                     */
                    event_type?: "contact.subscribed" | "contact.unsubscribed" | "contact.resubscribed" | "newsletter.sent" | "sequence_step.sent" | "sequence.completed" | "webhook.test" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.list_removed" | "contact.tagged" | "contact.untagged" | "contact.topic_subscribed" | "contact.topic_unsubscribed" | "contact.confirmation_requested";
                    /** @description Only deliveries that were created then or later. ISO 8601 with an offset. */
                    since?: string;
                };
                answer: {
                    data: components["schemas"]["EndpointDelivery"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "GET /webhook-endpoints/{endpointId}/deliveries": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                    /**
                     * @description Only deliveries in this state.
                     * @enum {string}
                     */
                    status?: "pending" | "success" | "failed" | "held";
                    /**
                     * @description Only deliveries of this event type.
                     * @enum {string}
                     */
                    event_type?: "contact.subscribed" | "contact.unsubscribed" | "contact.resubscribed" | "newsletter.sent" | "sequence_step.sent" | "sequence.completed" | "webhook.test" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.list_removed" | "contact.tagged" | "contact.untagged" | "contact.topic_subscribed" | "contact.topic_unsubscribed" | "contact.confirmation_requested";
                    /** @description Only deliveries that were created then or later. ISO 8601 with an offset. */
                    since?: string;
                };
                answer: {
                    data: components["schemas"]["Delivery"][];
                    meta: components["schemas"]["MetaWithoutPath"];
                };
            };
            "GET /webhook-endpoints/{endpointId}/deliveries/{deliveryId}": {
                answer: {
                    data: components["schemas"]["DeliveryDetail"];
                };
            };
            "POST /webhook-endpoints/{endpointId}/deliveries/{deliveryId}/redeliver": {
                answer: {
                    data: components["schemas"]["Delivery"];
                };
            };
            "POST /events": {
                body: components["schemas"]["EventInput"];
                answer: {
                    data: components["schemas"]["RaisedEvent"];
                };
            };
            "POST /events/batch": {
                body: components["schemas"]["EventBatchInput"];
                answer: {
                    data: components["schemas"]["EventResult"][];
                };
            };
            "GET /newsletters": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                    /**
                     * @description Only newsletters with this status.
                     * @enum {string}
                     */
                    status?: "draft" | "scheduled" | "sending" | "paused" | "sent" | "cancelled" | "failed";
                };
                answer: {
                    data: components["schemas"]["NewsletterSummary"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "POST /newsletters": {
                body: components["schemas"]["NewsletterInput"];
                answer: {
                    data: components["schemas"]["Newsletter"];
                };
            };
            "GET /newsletters/{newsletterId}": {
                query: {
                    /** @description Whether to add `current_audience`: who would get it now. */
                    audience?: boolean;
                };
                answer: {
                    data: components["schemas"]["NewsletterWithAudience"];
                };
            };
            "PATCH /newsletters/{newsletterId}": {
                body: components["schemas"]["NewsletterChange"];
                answer: {
                    data: components["schemas"]["Newsletter"];
                };
            };
            "DELETE /newsletters/{newsletterId}": Record<string, never>;
            "GET /newsletters/{newsletterId}/audience": {
                answer: {
                    data: components["schemas"]["ContactCount"];
                };
            };
            "POST /newsletters/{newsletterId}/preview": {
                body: components["schemas"]["PreviewInput"];
                answer: {
                    data: components["schemas"]["Preview"];
                };
            };
            "POST /newsletters/{newsletterId}/test": {
                body: components["schemas"]["TestInput"];
                answer: {
                    data: components["schemas"]["TestResult"][];
                };
            };
            "POST /newsletters/{newsletterId}/send": {
                body: components["schemas"]["SendInput"];
                answer: {
                    data: components["schemas"]["Newsletter"];
                };
            };
            "POST /newsletters/{newsletterId}/pause": {
                answer: {
                    data: components["schemas"]["Newsletter"];
                };
            };
            "POST /newsletters/{newsletterId}/resume": {
                body: components["schemas"]["ResumeInput"];
                answer: {
                    data: components["schemas"]["Newsletter"];
                };
            };
            "POST /newsletters/{newsletterId}/cancel": {
                answer: {
                    data: components["schemas"]["Newsletter"];
                };
            };
            "GET /newsletters/{newsletterId}/messages": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                    /**
                     * @description Only messages with this status.
                     * @enum {string}
                     */
                    status?: "pending" | "sent" | "failed" | "skipped" | "uncertain";
                };
                answer: {
                    data: components["schemas"]["Message"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "GET /sequences": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                };
                answer: {
                    data: components["schemas"]["SequenceSummary"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "POST /sequences": {
                body: components["schemas"]["SequenceInput"];
                answer: {
                    data: components["schemas"]["Sequence"];
                };
            };
            "GET /sequences/{sequenceId}": {
                answer: {
                    data: components["schemas"]["Sequence"];
                };
            };
            "PATCH /sequences/{sequenceId}": {
                body: components["schemas"]["SequenceChange"];
                answer: {
                    data: components["schemas"]["Sequence"];
                };
            };
            "POST /sequences/{sequenceId}/resume": {
                body: components["schemas"]["ResumeInput"];
                answer: {
                    data: components["schemas"]["Sequence"];
                };
            };
            "DELETE /sequences/{sequenceId}": Record<string, never>;
            "PUT /sequences/{sequenceId}/steps": {
                body: components["schemas"]["StepsInput"];
                answer: {
                    data: components["schemas"]["Sequence"];
                };
            };
            "POST /sequences/{sequenceId}/preview": {
                body: components["schemas"]["StepPreviewInput"];
                answer: {
                    data: components["schemas"]["Preview"];
                };
            };
            "GET /sequences/{sequenceId}/enrolments": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                };
                answer: {
                    data: components["schemas"]["Enrolment"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "GET /sequences/{sequenceId}/messages": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                    /**
                     * @description Only messages with this status.
                     * @enum {string}
                     */
                    status?: "pending" | "sent" | "failed" | "skipped" | "uncertain";
                };
                answer: {
                    data: components["schemas"]["Message"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "POST /sequences/{sequenceId}/enrolments": {
                body: components["schemas"]["EnrolmentInput"];
                answer: {
                    data: components["schemas"]["Enrolment"];
                };
            };
            "DELETE /sequences/{sequenceId}/enrolments/{contactId}": Record<string, never>;
            "GET /email-identities": {
                query: {
                    /**
                     * @description Only identities with this status.
                     * @enum {string}
                     */
                    identity_status?: "pending" | "verifying" | "verified" | "failed";
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                };
                answer: {
                    data: components["schemas"]["Identity"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "POST /email-identities": {
                body: components["schemas"]["IdentityInput"];
                answer: {
                    data: components["schemas"]["Identity"];
                };
            };
            "GET /email-identities/{emailIdentityId}": {
                answer: {
                    data: components["schemas"]["Identity"];
                };
            };
            "POST /email-identities/{emailIdentityId}/refresh": {
                answer: {
                    data: components["schemas"]["Identity"];
                };
            };
            "DELETE /email-identities/{emailIdentityId}": Record<string, never>;
            "GET /suppressions": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                };
                answer: {
                    data: components["schemas"]["Suppression"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "POST /suppressions": {
                body: components["schemas"]["SuppressionInput"];
                answer: {
                    data: components["schemas"]["Suppression"];
                };
            };
            "DELETE /suppressions/{suppressionId}": Record<string, never>;
            "GET /tokens": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                };
                answer: {
                    data: components["schemas"]["Token"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "GET /tokens/current": {
                answer: {
                    data: components["schemas"]["CurrentToken"];
                };
            };
            "POST /tokens": {
                body: components["schemas"]["TokenInput"];
                answer: {
                    data: components["schemas"]["NewToken"];
                };
            };
            "DELETE /tokens/{tokenId}": Record<string, never>;
            "GET /imports": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                };
                answer: {
                    data: components["schemas"]["Import"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "GET /imports/{importId}": {
                answer: {
                    data: components["schemas"]["Import"];
                };
            };
            "POST /portal-links": {
                body: components["schemas"]["PortalLinkInput"];
                answer: {
                    data: components["schemas"]["PortalLink"];
                };
            };
            "GET /stats/deliveries": {
                query: {
                    /** @description ISO 8601 with an offset. Default: 60 minutes, 24 hours or 30 days before `to`. */
                    from?: string;
                    /** @description The end of the range, exclusive. Default: now. */
                    to?: string;
                    /**
                     * @description The steps begin at whole minutes, hours or days of UTC. A range has at most 1500 steps.
                     * @enum {string}
                     */
                    step?: "minute" | "hour" | "day";
                    /** @description Only deliveries to this endpoint. */
                    endpoint_id?: number;
                };
                answer: {
                    data: components["schemas"]["DeliverySeries"];
                };
            };
            "GET /stats/contacts": {
                query: {
                    /** @description ISO 8601 with an offset. Default: 60 minutes, 24 hours or 30 days before `to`. */
                    from?: string;
                    /** @description The end of the range, exclusive. Default: now. */
                    to?: string;
                    /**
                     * @description The steps begin at whole minutes, hours or days of UTC. A range has at most 1500 steps.
                     * @enum {string}
                     */
                    step?: "minute" | "hour" | "day";
                    /** @description Whether to add `subscribed`, the number of contacts that are subscribed now. */
                    count?: boolean;
                };
                answer: {
                    data: components["schemas"]["ContactSeries"];
                };
            };
            "GET /audit-log": {
                query: {
                    /** @description Maximum records of a page. */
                    per_page?: number;
                    /** @description `next_cursor` or `prev_cursor` of a page of the same listing. */
                    cursor?: string;
                    /** @description Id of a token: only changes that were made with it. */
                    token?: number;
                    /**
                     * @description Only changes of this type.
                     * @enum {string}
                     */
                    type?: "client.created" | "client.updated" | "token.created" | "token.revoked" | "list.created" | "list.updated" | "list.deleted" | "list.imported" | "topic.created" | "topic.updated" | "topic.deleted" | "tag.created" | "tag.updated" | "tag.deleted" | "segment.created" | "segment.updated" | "segment.deleted" | "import.created" | "attributes.declared" | "pages.updated" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.unsubscribed" | "contact.resubscribed" | "contact.list_added" | "contact.list_removed" | "contact.topic_subscribed" | "contact.topic_unsubscribed" | "suppression.created" | "suppression.deleted" | "identity.created" | "identity.deleted" | "newsletter.created" | "newsletter.updated" | "newsletter.deleted" | "newsletter.started" | "newsletter.paused" | "newsletter.resumed" | "newsletter.cancelled" | "sequence.created" | "sequence.updated" | "sequence.resumed" | "sequence.deleted" | "sequence.enrolled" | "sequence.stopped" | "endpoint.created" | "endpoint.updated" | "endpoint.deleted" | "endpoint.secret_rotated" | "endpoint.recovered" | "delivery.redelivered";
                };
                answer: {
                    data: components["schemas"]["AuditEntry"][];
                    meta: components["schemas"]["Meta"];
                };
            };
            "POST /lists/{listId}/contacts/import": {
                query: {
                    /**
                     * @description Format of the file. Default: as `Content-Type` says.
                     * @enum {string}
                     */
                    format?: "csv" | "ndjson";
                    /** @description Names of columns by field: `email`, `name`, `first_name`, `last_name`, `tags`, `status`, `unsubscribed_at`, `cleaned_at`, `blocklisted`, `unsubscribed_by_contact`, `created_at`, `attributes`, `extra_attributes`, `lists`, `topics`, or an attribute. Without it, the usual names are known. */
                    map?: {
                        [key: string]: string;
                    };
                    /**
                     * @description What becomes of contacts that exist. `skip`: they stay as they are. `replace_tags`: the tags of the row replace theirs.
                     * @enum {string}
                     */
                    mode?: "merge" | "skip" | "replace_tags";
                    /**
                     * @description `unsubscribed`: everybody in the file has unsubscribed. No event is raised.
                     * @enum {string}
                     */
                    status?: "unsubscribed";
                    /** @description Whether the contacts have confirmed elsewhere that they join the list, so that double opt-in is skipped. Only for admins. */
                    confirmed?: boolean;
                    /** @description Whether every row is checked and nothing is stored. `1` and `0` are accepted too. */
                    dry_run?: boolean;
                };
                answer: {
                    data: components["schemas"]["ImportReport"];
                };
            };
            "POST /contacts/import": {
                query: {
                    /**
                     * @description Format of the file. Default: as `Content-Type` says.
                     * @enum {string}
                     */
                    format?: "csv" | "ndjson";
                    /** @description Names of columns by field: `email`, `name`, `first_name`, `last_name`, `tags`, `status`, `unsubscribed_at`, `cleaned_at`, `blocklisted`, `unsubscribed_by_contact`, `created_at`, `attributes`, `extra_attributes`, `lists`, `topics`, or an attribute. Without it, the usual names are known. */
                    map?: {
                        [key: string]: string;
                    };
                    /**
                     * @description What becomes of contacts that exist. `skip`: they stay as they are. `replace_tags`: the tags of the row replace theirs.
                     * @enum {string}
                     */
                    mode?: "merge" | "skip" | "replace_tags";
                    /**
                     * @description `unsubscribed`: everybody in the file has unsubscribed. No event is raised.
                     * @enum {string}
                     */
                    status?: "unsubscribed";
                    /** @description Whether the contacts have confirmed elsewhere that they join the list, so that double opt-in is skipped. Only for admins. */
                    confirmed?: boolean;
                    /** @description Whether every row is checked and nothing is stored. `1` and `0` are accepted too. */
                    dry_run?: boolean;
                };
                answer: {
                    data: components["schemas"]["ImportReport"];
                };
            };
            "GET /contacts/export": {
                query: {
                    /** @description On any of these lists. */
                    "lists[]"?: number[];
                    /** @description With any of these tags. */
                    "tags[]"?: number[];
                    /** @description Currently subscribed to any of these topics. */
                    "topics[]"?: number[];
                    /** @description Substring of the name or e-mail address, without regard to case or wildcards. */
                    search?: string;
                    /** @description Whether to include unsubscribed contacts. `1` and `0` are accepted too. */
                    include_unsubscribed?: boolean;
                    /**
                     * @description `only`: returns unsubscribed contacts only.
                     * @enum {string}
                     */
                    unsubscribed?: "only";
                    /**
                     * Format: idn-email
                     * @description The exact e-mail address, in any case, and with its domain in Unicode or Punycode.
                     */
                    email?: string;
                    /** @description One of these contacts. */
                    "ids[]"?: number[];
                    /** @description On none of these lists. */
                    "exclude_lists[]"?: number[];
                    /** @description With none of these tags. */
                    "exclude_tags[]"?: number[];
                    /** @description With these values of declared attributes, compared exactly: `attributes[plan]=pro`. `PUT /settings/attributes` declares attributes. */
                    attributes?: {
                        [key: string]: string;
                    };
                    /** @description Created later than this: ISO 8601 with an offset. */
                    created_after?: string;
                    /** @description Created earlier than this: ISO 8601 with an offset. */
                    created_before?: string;
                    /** @description Id of a segment. Its filters apply in addition to the others. */
                    segment?: number;
                    /**
                     * @description Default: CSV if `Accept` names it and not NDJSON, otherwise NDJSON.
                     * @enum {string}
                     */
                    format?: "csv" | "ndjson";
                    /** @description Whether cells of CSV that begin with `=`, `+`, `-`, `@` or a tab stay as they are. Otherwise they get a leading apostrophe, which the import removes. */
                    raw?: boolean;
                };
            };
        };
    };
}
