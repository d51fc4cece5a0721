# A static binary in an image without a shell, as a user without rights.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=devel
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -tags grpcnotrace,validator_novalidatefn -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/skillyard ./cmd/skillyard
# A new volume takes the owner of the directory it is mounted over.
RUN mkdir /out/data

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/skillyard /skillyard
COPY --from=build --chown=nonroot:nonroot /out/data /data
# All addresses, as only published ports can be reached; set API_KEY, and set
# A2A_PUBLIC_URL if clients call by a name.
ENV A2A_DATA=/data A2A_SERVER_ADDR=:8080
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s CMD ["/skillyard", "healthcheck"]
ENTRYPOINT ["/skillyard"]
CMD ["serve"]
