# The bus, built from the nats-server module that cmd/jobgraph links, for machines that cannot pull the official
# image: JOBGRAPH_NATS_IMAGE=jobgraph/nats:dev. It is used the same way: the arguments are those of nats-server.
FROM scratch
ARG VERSION=dev
LABEL org.opencontainers.image.title="nats-server" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --chown=65532:65532 root/ /
USER 65532:65532
VOLUME ["/data"]
EXPOSE 4222 8222
ENTRYPOINT ["/program"]
CMD ["--jetstream", "--store_dir", "/data"]
